#include "reference/tape.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::DTypeBytes;
using kernels::ElementwiseOp;

// Scratch of one run on the stack; a longer tape takes the heap.
constexpr size_t kStackScratch = size_t{32} << 10;
constexpr size_t kStackRegisters = 48;
constexpr int64_t kMinBlock = 64;

// One run of elements of the innermost dimension.
void LoadRow(const std::byte* in, int64_t stride, size_t bytes, std::byte* out, int64_t n) {
  if (stride == 1) {
    std::memcpy(out, in, size_t(n) * bytes);
    return;
  }
  if (stride == 0) {
    kernels::Kernels().fill[kernels::SizeIndex(bytes)](in, out, n);
    return;
  }
  int64_t step = stride * int64_t(bytes);
  auto move = [&](auto element) {
    using T = decltype(element);
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(&element, in + i * step, sizeof(T));
      std::memcpy(out + i * int64_t(sizeof(T)), &element, sizeof(T));
    }
  };
  switch (bytes) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(uint32_t{});
    case 8:
      return move(uint64_t{});
    default:
      return move(std::array<uint64_t, 2>{});
  }
}

// Elements [begin, begin + n) of a strided operand.
void Load(const StridedLoad& load, const std::byte* in, size_t bytes, int64_t begin, int64_t n,
          std::byte* out) {
  const size_t rank = load.dims.size();
  std::array<int64_t, kernels::kMaxCopyRank> index;
  int64_t offset = 0;
  int64_t rest = begin;
  for (size_t d = rank; d-- > 0;) {
    index[d] = rest % load.dims[d];
    rest /= load.dims[d];
    offset += index[d] * load.strides[d];
  }
  const size_t last = rank - 1;
  while (n > 0) {
    int64_t run = std::min(n, load.dims[last] - index[last]);
    LoadRow(in + offset * int64_t(bytes), load.strides[last], bytes, out, run);
    out += size_t(run) * bytes;
    n -= run;
    // To the start of the next row.
    offset -= index[last] * load.strides[last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
      offset += load.strides[d];
      if (++index[d] < load.dims[d]) break;
      offset -= load.dims[d] * load.strides[d];
      index[d] = 0;
    }
    if (last == 0) break;
  }
}

}  // namespace

void Tape::FillIota(const Iota& iota, size_t bytes, int64_t begin, int64_t n, std::byte* out) {
  int64_t value = begin / iota.inner % iota.size;
  int64_t inside = begin % iota.inner;
  if (iota.inner == 1) {
    while (n > 0) {
      int64_t run = std::min(n, iota.size - value);
      iota.fn(value, 1, out, run);
      out += size_t(run) * bytes;
      n -= run;
      value = 0;
    }
    return;
  }
  while (n > 0) {
    int64_t run = std::min(n, iota.inner - inside);
    iota.fn(value, 0, out, run);
    out += size_t(run) * bytes;
    n -= run;
    inside = 0;
    if (++value == iota.size) value = 0;
  }
}

void Tape::RunChain(const Chain& chain, const std::byte* first, std::byte* const* base,
                    const int64_t* step, int64_t begin, int64_t n) const {
  kernels::ChainStep steps[kernels::kMaxChainSteps];
  int count = 0;
  for (const ChainLink& link : chain.links) {
    std::byte* out = link.out == kNotStored ? nullptr : base[link.out] + step[link.out] * begin;
    steps[count++] = {link.op, link.scalar, base[link.in] + step[link.in] * begin, out};
  }
  chain.fn(first, steps, count, n);
}

void Tape::Run(const void* const* in, void* const* out, int64_t begin, int64_t end) const {
  if (begin >= end) return;
  const size_t count = registers_.size();
  std::byte* stack_base[kStackRegisters];
  int64_t stack_step[kStackRegisters];
  std::unique_ptr<std::byte*[]> heap_base;
  std::unique_ptr<int64_t[]> heap_step;
  std::byte** base = stack_base;
  int64_t* step = stack_step;
  if (count > kStackRegisters) {
    heap_base.reset(base = new std::byte*[count]);
    heap_step.reset(step = new int64_t[count]);
  }

  alignas(64) std::byte stack_scratch[kStackScratch];
  std::unique_ptr<std::byte[]> heap_scratch;
  std::byte* scratch = stack_scratch;
  int64_t block = std::min(kMaxBlock, end - begin);
  size_t slot = (size_t(block) * slot_bytes_ + 63) / 64 * 64;
  if (scratch_slots_ * slot > kStackScratch) {
    block = std::min(
        block, std::max<int64_t>(kMinBlock, int64_t(kStackScratch / scratch_slots_ / slot_bytes_) /
                                                kMinBlock * kMinBlock));
    slot = (size_t(block) * slot_bytes_ + 63) / 64 * 64;
    if (scratch_slots_ * slot > kStackScratch) {
      heap_scratch.reset(new std::byte[scratch_slots_ * slot + 64]);
      uintptr_t address = reinterpret_cast<uintptr_t>(heap_scratch.get());
      scratch = reinterpret_cast<std::byte*>((address + 63) & ~uintptr_t{63});
    }
  }

  for (size_t r = 0; r < count; ++r) {
    const Register& reg = registers_[r];
    step[r] = 0;
    switch (reg.place) {
      case Place::kInput:
        base[r] = static_cast<std::byte*>(const_cast<void*>(in[reg.index]));
        step[r] = int64_t(DTypeBytes(reg.dtype));
        break;
      case Place::kScalarInput:
        base[r] = static_cast<std::byte*>(const_cast<void*>(in[reg.index]));
        break;
      case Place::kConstant:
        base[r] = const_cast<std::byte*>(constants_.data()) + reg.index;
        break;
      case Place::kOutput:
        base[r] = static_cast<std::byte*>(out[reg.index]);
        step[r] = int64_t(DTypeBytes(reg.dtype));
        break;
      case Place::kScratch:
        base[r] = scratch + reg.index * slot;
        break;
    }
  }

  for (int64_t i = begin; i < end; i += block) {
    const int64_t n = std::min(block, end - i);
    auto at = [&](uint32_t r) { return base[r] + step[r] * i; };
    for (const Instruction& one : instructions_) {
      std::byte* target = at(one.out);
      switch (one.kind) {
        case Kind::kChain:
          RunChain(chains_[one.in[1]], at(one.in[0]), base, step, i, n);
          break;
        case Kind::kCompute: {
          const void* operands[3];
          for (uint32_t k = 0; k < one.arity; ++k) operands[k] = at(one.in[k]);
          one.fn(operands, one.scalars, target, n);
          break;
        }
        case Kind::kLoad:
          Load(loads_[one.in[1]], static_cast<const std::byte*>(in[one.in[0]]),
               DTypeBytes(registers_[one.out].dtype), i, n, target);
          break;
        case Kind::kIota:
          FillIota(iotas_[one.in[0]], DTypeBytes(registers_[one.out].dtype), i, n, target);
          break;
        case Kind::kCopy: {
          size_t bytes = DTypeBytes(registers_[one.out].dtype);
          if (one.scalars) {
            kernels::Kernels().fill[kernels::SizeIndex(bytes)](at(one.in[0]), target, n);
          } else {
            std::memmove(target, at(one.in[0]), size_t(n) * bytes);
          }
          break;
        }
      }
    }
  }
}

bool Tape::CanShare(size_t in, size_t out) const {
  const Register& target = registers_[outputs_[out]];
  bool dense = false;
  for (const Instruction& one : instructions_)
    if (one.kind == Kind::kLoad && one.in[0] == in) return false;
  for (const Register& reg : registers_) {
    if (reg.index != in) continue;
    if (reg.place == Place::kScalarInput) return false;
    if (reg.place != Place::kInput) continue;
    dense = true;
    if (DTypeBytes(reg.dtype) != DTypeBytes(target.dtype) || reg.last_read > target.written)
      return false;
  }
  return dense;
}

// ---- Builder ----

TapeBuilder::Reg TapeBuilder::New(DType dtype, Tape::Place place, uint32_t index) {
  Tape::Register reg;
  reg.dtype = dtype;
  reg.place = place;
  reg.index = index;
  tape_.registers_.push_back(reg);
  dtypes_.push_back(dtype);
  alias_.push_back(Reg(tape_.registers_.size() - 1));
  return Reg(dtypes_.size() - 1);
}

TapeBuilder::Reg TapeBuilder::Input(DType dtype) {
  return New(dtype, Tape::Place::kInput, uint32_t(tape_.inputs_++));
}

TapeBuilder::Reg TapeBuilder::ScalarInput(DType dtype) {
  return New(dtype, Tape::Place::kScalarInput, uint32_t(tape_.inputs_++));
}

TapeBuilder::Reg TapeBuilder::StridedInput(DType dtype, StridedLoad load) {
  Tape::Instruction one;
  one.kind = Tape::Kind::kLoad;
  one.in[0] = uint32_t(tape_.inputs_++);
  one.in[1] = uint32_t(tape_.loads_.size());
  tape_.loads_.push_back(std::move(load));
  tape_.cost_ += 2;
  return Emit(one, dtype);
}

TapeBuilder::Reg TapeBuilder::Constant(DType dtype, const std::byte* value) {
  size_t bytes = DTypeBytes(dtype);
  size_t offset = (tape_.constants_.size() + 15) / 16 * 16;
  tape_.constants_.resize(offset + bytes);
  std::memcpy(tape_.constants_.data() + offset, value, bytes);
  return New(dtype, Tape::Place::kConstant, uint32_t(offset));
}

TapeBuilder::Reg TapeBuilder::Iota(DType dtype, int64_t inner, int64_t size) {
  DType type = kernels::Kernels().iota[size_t(dtype)] != nullptr ? dtype : DType::kS32;
  Tape::Instruction one;
  one.kind = Tape::Kind::kIota;
  one.in[0] = uint32_t(tape_.iotas_.size());
  tape_.iotas_.push_back({kernels::Kernels().iota[size_t(type)], std::max<int64_t>(inner, 1),
                          std::max<int64_t>(size, 1)});
  tape_.cost_ += 1;
  Reg reg = Emit(one, type);
  return type == dtype ? reg : Convert(reg, dtype);
}

bool TapeBuilder::IsScalar(Reg reg) const {
  Tape::Place place = tape_.registers_[Real(reg)].place;
  return place == Tape::Place::kScalarInput || place == Tape::Place::kConstant;
}

TapeBuilder::Reg TapeBuilder::Emit(Tape::Instruction instruction, DType dtype, Meaning meaning) {
  Reg reg = New(dtype, Tape::Place::kScratch, 0);
  instruction.out = Real(reg);
  if (instruction.kind == Tape::Kind::kCompute || instruction.kind == Tape::Kind::kCopy) {
    for (uint32_t k = 0; k < instruction.arity; ++k) {
      if (IsScalar(instruction.in[k])) instruction.scalars |= uint8_t(1u << k);
      instruction.in[k] = Real(instruction.in[k]);
    }
  }
  tape_.instructions_.push_back(instruction);
  meanings_.push_back(meaning);
  return reg;
}

std::optional<TapeBuilder::Reg> TapeBuilder::Apply(ElementwiseOp op, std::span<const Reg> in) {
  DType type = dtypes_[in[op == ElementwiseOp::kSelect ? 1 : 0]];
  DType wide = ComputeType(type);
  std::array<Reg, 3> operands{};
  for (size_t k = 0; k < in.size(); ++k)
    operands[k] = wide != type && dtypes_[in[k]] == type ? Convert(in[k], wide) : in[k];
  Tape::Instruction one;
  one.fn = kernels::Kernels().Find(op, wide);
  if (one.fn == nullptr) return std::nullopt;
  one.arity = uint8_t(in.size());
  for (size_t k = 0; k < in.size(); ++k) one.in[k] = operands[k];
  DType result = wide;
  if (op == ElementwiseOp::kIsFinite ||
      (op >= ElementwiseOp::kCompareEq && op <= ElementwiseOp::kCompareTotalLt)) {
    result = DType::kPred;
  } else if (op == ElementwiseOp::kComplex) {
    result = wide == DType::kF32 ? DType::kC64 : DType::kC128;
  } else if (op == ElementwiseOp::kReal || op == ElementwiseOp::kImag ||
             (op == ElementwiseOp::kAbs && backend::IsComplex(wide))) {
    result = wide == DType::kC64 ? DType::kF32 : DType::kF64;
  }
  tape_.cost_ += CostOf(op) * double(DTypeBytes(wide)) / 4;
  Reg reg = Emit(one, result, {op, wide});
  return result == wide && wide != type ? Convert(reg, type) : reg;
}

TapeBuilder::Reg TapeBuilder::Convert(Reg in, DType to) {
  if (dtypes_[in] == to) return in;
  Tape::Instruction one;
  one.fn = kernels::Kernels().Convert(dtypes_[in], to);
  one.arity = 1;
  one.in[0] = in;
  tape_.cost_ += 1;
  return Emit(one, to);
}

TapeBuilder::Reg TapeBuilder::Bitcast(Reg in, DType to) {
  dtypes_.push_back(to);
  alias_.push_back(Real(in));
  return Reg(dtypes_.size() - 1);
}

void TapeBuilder::Output(Reg reg) {
  Reg real = Real(reg);
  bool fresh = tape_.registers_[real].place == Tape::Place::kScratch;
  if (!fresh) {
    Tape::Instruction copy;
    copy.kind = Tape::Kind::kCopy;
    copy.arity = 1;
    copy.in[0] = reg;
    tape_.cost_ += 1;
    real = Real(Emit(copy, tape_.registers_[real].dtype));
  }
  tape_.registers_[real].place = Tape::Place::kOutput;
  tape_.registers_[real].index = uint32_t(tape_.outputs_.size());
  tape_.outputs_.push_back(real);
}

Tape TapeBuilder::Build() && {
  NoteLives();
  MakeChains();
  AssignSlots();
  return std::move(tape_);
}

// When each register is written and read for the last time, counted in instructions before chains
// are made of them.
void TapeBuilder::NoteLives() {
  for (size_t i = 0; i < tape_.instructions_.size(); ++i) {
    const Tape::Instruction& one = tape_.instructions_[i];
    if (one.kind == Tape::Kind::kCompute || one.kind == Tape::Kind::kCopy)
      for (uint32_t k = 0; k < one.arity; ++k) tape_.registers_[one.in[k]].last_read = int32_t(i);
    tape_.registers_[one.out].written = int32_t(i);
  }
}

// The step that does `one` to the value in register `running`; nothing when it is none for a chain.
std::optional<Tape::ChainLink> TapeBuilder::LinkOf(const Tape::Instruction& one,
                                                   const Meaning& meaning, uint32_t running) const {
  if (!meaning.op.has_value() || one.arity > 2) return std::nullopt;
  const bool first = one.in[0] == running && !(one.scalars & 1);
  const bool second = one.arity == 2 && one.in[1] == running && !(one.scalars & 2);
  if (!first && !second) return std::nullopt;
  const std::optional<kernels::ChainOp> op =
      kernels::FindChainOp(*meaning.op, meaning.dtype, !first);
  if (!op.has_value()) return std::nullopt;
  const uint32_t other = one.arity == 1 ? 0 : first ? 1 : 0;
  return Tape::ChainLink{*op, (one.scalars >> other & 1) != 0, one.in[other], Tape::kNotStored};
}

// Makes one instruction of each run in which every computation is on the result of the one before.
// A value on the way is stored only where somebody else reads it.
void TapeBuilder::MakeChains() {
  const std::vector<Tape::Instruction> all = std::move(tape_.instructions_);
  tape_.instructions_.clear();
  for (size_t begin = 0; begin < all.size();) {
    const Tape::Instruction& head = all[begin];
    const DType type = meanings_[begin].dtype;
    uint32_t running = head.in[0];
    if (head.kind == Tape::Kind::kCompute && (head.scalars & 1)) running = head.in[1];
    const uint32_t first = running;
    Tape::Chain chain = {kernels::Kernels().chain[size_t(type)], {}};
    size_t end = begin;
    for (; end < all.size() && chain.links.size() < size_t(kernels::kMaxChainSteps); ++end) {
      const Tape::Instruction& one = all[end];
      std::optional<Tape::ChainLink> link;
      if (meanings_[end].dtype == type) link = LinkOf(one, meanings_[end], running);
      if (!link.has_value()) break;
      const bool twice = one.arity == 2 && one.in[0] == one.in[1];
      if (twice && end > begin) chain.links.back().out = running;
      if (one.arity == 1) link->in = first;  // not used, but read
      running = one.out;
      const Tape::Register& result = tape_.registers_[running];
      if (result.place == Tape::Place::kOutput || result.last_read != int32_t(end) + 1)
        link->out = running;
      chain.links.push_back(*link);
    }
    if (end - begin < 2 || chain.fn == nullptr) {
      tape_.instructions_.push_back(head);
      ++begin;
      continue;
    }
    chain.links.back().out = running;
    Tape::Instruction one;
    one.kind = Tape::Kind::kChain;
    one.in[0] = first;
    one.in[1] = uint32_t(tape_.chains_.size());
    one.out = running;
    tape_.instructions_.push_back(one);
    tape_.chains_.push_back(std::move(chain));
    begin = end;
  }
}

// Scratch slots are reused as soon as their register was read for the last time; a kernel may write
// over an operand only when the elements have one size, and a chain over none.
void TapeBuilder::AssignSlots() {
  std::vector<uint32_t> free;
  auto take = [&](Tape::Register& out) {
    if (free.empty()) {
      out.index = uint32_t(tape_.scratch_slots_++);
    } else {
      out.index = free.back();
      free.pop_back();
    }
  };
  for (const Tape::Instruction& one : tape_.instructions_) {
    std::vector<uint32_t> reads;
    std::vector<uint32_t> writes = {one.out};
    if (one.kind == Tape::Kind::kChain) {
      reads.push_back(one.in[0]);
      writes.clear();
      for (const Tape::ChainLink& link : tape_.chains_[one.in[1]].links) {
        reads.push_back(link.in);
        if (link.out != Tape::kNotStored) writes.push_back(link.out);
      }
    } else if (one.kind == Tape::Kind::kCompute || one.kind == Tape::Kind::kCopy) {
      reads.assign(one.in, one.in + one.arity);
    }
    const int32_t now = tape_.registers_[one.out].written;
    // Registers with a slot that nothing reads from here on.
    std::vector<uint32_t> dying;
    for (uint32_t r : reads) {
      const Tape::Register& reg = tape_.registers_[r];
      const bool own = std::find(writes.begin(), writes.end(), r) != writes.end();
      if (reg.place == Tape::Place::kScratch && reg.last_read <= now && !own &&
          std::find(dying.begin(), dying.end(), r) == dying.end())
        dying.push_back(r);
    }
    for (uint32_t w : writes) {
      Tape::Register& out = tape_.registers_[w];
      if (out.place != Tape::Place::kScratch) continue;
      const auto same = std::find_if(dying.begin(), dying.end(), [&](uint32_t r) {
        return one.kind != Tape::Kind::kChain &&
               DTypeBytes(tape_.registers_[r].dtype) == DTypeBytes(out.dtype);
      });
      if (same != dying.end()) {
        out.index = tape_.registers_[*same].index;
        dying.erase(same);
      } else {
        take(out);
      }
      tape_.slot_bytes_ = std::max(tape_.slot_bytes_, DTypeBytes(out.dtype));
      if (out.last_read <= now) dying.push_back(w);
    }
    for (uint32_t r : dying) free.push_back(tape_.registers_[r].index);
  }
}

double CostOf(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::kAtan2:
    case ElementwiseOp::kCbrt:
    case ElementwiseOp::kPower:
    case ElementwiseOp::kTan:
      return 24;
    case ElementwiseOp::kCosine:
    case ElementwiseOp::kExponential:
    case ElementwiseOp::kExponentialMinusOne:
    case ElementwiseOp::kLog:
    case ElementwiseOp::kLogPlusOne:
    case ElementwiseOp::kLogistic:
    case ElementwiseOp::kRemainder:
    case ElementwiseOp::kSine:
    case ElementwiseOp::kTanh:
      return 10;
    case ElementwiseOp::kDivide:
    case ElementwiseOp::kRsqrt:
    case ElementwiseOp::kSqrt:
      return 3;
    default:
      return 1;
  }
}

DType ComputeType(DType dtype) {
  switch (dtype) {
    case DType::kS2:
    case DType::kS4:
      return DType::kS8;
    case DType::kU2:
    case DType::kU4:
      return DType::kU8;
    default:
      return backend::DTypeBits(dtype) <= 8 && backend::IsFloat(dtype) ? DType::kF32 : dtype;
  }
}

}  // namespace PJRT_PLUGIN_NS::reference
