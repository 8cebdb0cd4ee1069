// Every result is the product of a patch of the padded input and the kernel. Where one stride walks
// along the patches and another one along a patch, the product reads the input in place; elsewhere
// patches are copied to bounded scratch memory, block by block.

#include "reference/convolution.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "reference/kernels/kernel_table.h"
#include "reference/pad.h"
#include "reference/product.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::DTypeBytes;

constexpr int64_t kPatchBytes = int64_t{1} << 19;  // of one block of patches: stays in the L2 cache
constexpr int64_t kPatchDepth = 2048;              // elements of a patch that are taken at once

// A box cut into parts that follow each other in row-major order: each has all of the dimensions
// after `axis`, up to `range` of that one, and one of each before it.
struct Cut {
  Dims dims;
  size_t axis = 0;
  int64_t inner = 1, range = 1, parts = 1, count = 1;

  struct Part {
    int64_t first = 0;     // elements of the box before it
    int64_t elements = 0;  // of it
    int64_t on_axis = 0;
    int64_t offset = 0;  // of its first element, by the given strides
  };
  Part At(int64_t i, const Dims& strides) const {
    Part part;
    const int64_t start = i % parts * range;
    int64_t rest = i / parts;
    part.first = (rest * dims[axis] + start) * inner;
    part.on_axis = std::min(range, dims[axis] - start);
    part.elements = part.on_axis * inner;
    part.offset = start * strides[axis];
    for (size_t d = axis; d-- > 0; rest /= dims[d]) part.offset += rest % dims[d] * strides[d];
    return part;
  }
};

// Parts of about `target` elements, none of which spans dimensions before `first_axis`.
Cut CutInto(Dims dims, int64_t target, size_t first_axis) {
  Cut cut{std::move(dims)};
  cut.axis = cut.dims.size() - 1;
  while (cut.axis > first_axis && cut.inner * cut.dims[cut.axis] <= target)
    cut.inner *= cut.dims[cut.axis--];
  const int64_t size = cut.dims[cut.axis];
  const int64_t range = std::clamp<int64_t>(target / cut.inner, 1, size);
  cut.parts = (size + range - 1) / range;
  cut.range = (size + cut.parts - 1) / cut.parts;
  cut.parts = (size + cut.range - 1) / cut.range;
  cut.count = cut.parts;
  for (size_t d = 0; d < cut.axis; ++d) cut.count *= cut.dims[d];
  return cut;
}

// The input with its padding, as the patches of all positions: batch and output positions, then
// what is in a patch.
struct Patches {
  BufferId buffer = kNoBuffer;
  int64_t offset = 0;        // elements
  int64_t group_stride = 0;  // elements
  Dims positions, position_strides;
  Dims depth, depth_strides;
  bool feature_last = false;
};

Patches PatchesOf(PlanBuilder& b, const Convolution& shape) {
  const View& view = shape.lhs;
  const DType product = view.dtype;
  const size_t n = shape.windows.size();
  Patches patches;
  auto strides_over = [&](size_t d) {  // whether the elements along spatial dimensions lie closer
    for (size_t i = 2; i < view.dims.size(); ++i)
      if (std::abs(view.strides[i]) < std::abs(view.strides[d])) return true;
    return false;
  };
  const bool thin =
      shape.feature_groups > 1 && view.dims[1] / shape.feature_groups < Convolution::kFewFeatures;
  patches.feature_last = !strides_over(1) && !thin;
  // Groups between whose elements those of others lie are copied apart first.
  const bool regroup = (thin && !strides_over(1)) || (shape.batch_groups > 1 && !strides_over(0));

  // Batch, spatial dimensions and features, in the order in which they lie best.
  View arranged{view.buffer, view.dtype, view.offset, {}, {}};
  Padding around;
  Dims padded;
  bool pads = false;
  auto add = [&](size_t d, int64_t low, int64_t high, int64_t interior) {
    const int64_t size = view.dims[d];
    arranged.dims.push_back(size);
    arranged.strides.push_back(view.strides[d]);
    around.low.push_back(low);
    around.interior.push_back(interior);
    padded.push_back((size == 0 ? 0 : (size - 1) * (interior + 1) + 1) + low + high);
    pads = pads || low != 0 || padded.back() != size;
  };
  add(0, 0, 0, 0);
  if (!patches.feature_last) add(1, 0, 0, 0);
  for (size_t i = 0; i < n; ++i)
    add(i + 2, shape.windows[i].low, shape.windows[i].high, shape.windows[i].lhs_dilation - 1);
  if (patches.feature_last) add(1, 0, 0, 0);
  if (pads) {
    const std::byte zero[16] = {};
    BufferId out = b.NewTemp(size_t(Product(padded)) * DTypeBytes(product));
    EmitPad(b, std::move(arranged), {b.NewConstant(zero, sizeof(zero)), 0}, around, out, padded);
    arranged = View{out, product, 0, padded, DenseStrides(padded)};
  } else if (regroup) {
    const Place place = b.Dense(arranged);
    arranged.buffer = place.buffer;
    arranged.offset = place.bytes / int64_t(DTypeBytes(product));
    arranged.strides = DenseStrides(arranged.dims);
  }

  patches.buffer = arranged.buffer;
  patches.offset = arranged.offset;
  const size_t at = patches.feature_last ? 1 : 2;  // of the spatial dimensions
  const size_t feature_at = patches.feature_last ? n + 1 : 1;
  const int64_t batches = arranged.dims[0] / shape.batch_groups;
  const int64_t features = arranged.dims[feature_at] / shape.feature_groups;
  patches.group_stride = shape.batch_groups > 1 ? batches * arranged.strides[0]
                                                : features * arranged.strides[feature_at];
  patches.positions = {batches};
  patches.position_strides = {arranged.strides[0]};
  auto add_features = [&] {
    patches.depth.push_back(features);
    patches.depth_strides.push_back(arranged.strides[feature_at]);
  };
  if (!patches.feature_last) add_features();
  for (size_t i = 0; i < n; ++i) {
    const int64_t stride = arranged.strides[at + i];
    patches.positions.push_back(shape.windows[i].positions);
    patches.position_strides.push_back(stride * shape.windows[i].stride);
    patches.depth.push_back(shape.kernel.dims[i + 2]);
    patches.depth_strides.push_back(stride * shape.windows[i].rhs_dilation);
  }
  if (patches.feature_last) add_features();
  return patches;
}

// The kernel as a matrix: along a patch, and along the output's features.
struct KernelMatrix {
  Place at;
  int64_t depth_stride = 0, feature_stride = 0;  // elements
};

KernelMatrix KernelOf(PlanBuilder& b, const Convolution& shape, bool feature_last) {
  const View& view = shape.kernel;
  Dims order;
  if (!feature_last) order.push_back(0);
  for (size_t d = 2; d < view.dims.size(); ++d) order.push_back(int64_t(d));
  if (feature_last) order.push_back(0);
  std::optional<Axis> depth = Join(view, order);
  const int64_t feature_stride = view.strides[1], features = view.dims[1];
  const bool thin = shape.thin();
  if (depth && !(thin && feature_stride < depth->stride))
    return KernelMatrix{{view.buffer, view.offset * int64_t(DTypeBytes(view.dtype))},
                        depth->stride,
                        feature_stride};
  // The features of a thin group are multiplied one by one, so each lies together.
  order.insert(thin ? order.begin() : order.end(), 1);
  View arranged{view.buffer, view.dtype, view.offset, {}, {}};
  for (int64_t d : order) {
    arranged.dims.push_back(view.dims[size_t(d)]);
    arranged.strides.push_back(view.strides[size_t(d)]);
  }
  const int64_t elements = view.num_elements() / features;
  const Place place = b.Dense(arranged);
  return KernelMatrix{place, thin ? 1 : features, thin ? elements : 1};
}

// One product a task: a part of the positions and of the output's features, of one group.
struct Tasks {
  Cut positions, depth;
  bool in_place = false;           // the product reads the input where it lies
  Axis position_axis, depth_axis;  // then
  bool depth_first = false;   // how copied patches lie: the elements of each patch together, or not
  bool feature_last = false;  // the result's features lie together
  int64_t groups = 1, features = 1, feature_parts = 1, features_per_part = 1;
  int64_t all_features = 1, all_positions = 1, spatial_positions = 1;
  int64_t workers = 1;
  size_t patch_bytes = 0, scratch_bytes = 0;  // for each worker
};

int64_t RoundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

Tasks TasksOf(const PlanBuilder& b, const Convolution& shape, const Patches& patches) {
  Tasks tasks;
  const DType product = shape.lhs.dtype;
  const bool feature_last = shape.feature_last;
  const int64_t bytes = int64_t(DTypeBytes(product));
  const int64_t threads = b.threads();
  tasks.feature_last = feature_last;
  tasks.groups = shape.groups();
  tasks.all_features = shape.out_features();
  tasks.features = tasks.all_features / tasks.groups;
  tasks.all_positions = Product(patches.positions);
  tasks.spatial_positions = tasks.all_positions / patches.positions[0];
  const int64_t depth = Product(patches.depth);

  // Where features come before positions, the positions of one batch lie together, not more.
  const size_t first_axis = feature_last ? 0 : 1;
  View view{kNoBuffer, product, 0, patches.positions, patches.position_strides};
  Dims axes;
  for (size_t d = first_axis; d < view.dims.size(); ++d) axes.push_back(int64_t(d));
  const std::optional<Axis> position_axis = Join(view, axes);
  view.dims = patches.depth, view.strides = patches.depth_strides;
  axes.clear();
  for (size_t d = 0; d < view.dims.size(); ++d) axes.push_back(int64_t(d));
  const std::optional<Axis> depth_axis = Join(view, axes);
  tasks.in_place = position_axis && depth_axis;
  if (tasks.in_place) {
    tasks.position_axis = *position_axis;
    tasks.depth_axis = *depth_axis;
  }
  tasks.depth_first = patches.feature_last;

  const bool worth_sharing =
      threads > 1 &&
      double(depth) * double(tasks.all_positions) * double(tasks.all_features) > 65536.0;
  const int64_t share = worth_sharing ? RoundUp((tasks.all_positions + threads - 1) / threads, 8)
                                      : tasks.all_positions;
  const int64_t patch_depth = tasks.in_place ? depth : std::min(depth, kPatchDepth);
  int64_t target = share;
  if (!tasks.in_place)
    target = std::min(share, std::max<int64_t>(kPatchBytes / (patch_depth * bytes), 16));
  tasks.positions = CutInto(patches.positions, target, first_axis);
  tasks.depth = CutInto(patches.depth, patch_depth, 0);
  if (worth_sharing && tasks.groups * tasks.positions.count < threads && tasks.features >= 64)
    tasks.feature_parts = threads;
  tasks.features_per_part =
      RoundUp((tasks.features + tasks.feature_parts - 1) / tasks.feature_parts, 8);
  tasks.feature_parts = (tasks.features + tasks.features_per_part - 1) / tasks.features_per_part;
  tasks.workers =
      worth_sharing ? std::min(threads, tasks.groups * tasks.positions.count * tasks.feature_parts)
                    : 1;
  const int64_t part = tasks.positions.range * tasks.positions.inner;
  const int64_t part_depth = tasks.depth.range * tasks.depth.inner;
  if (!tasks.in_place) tasks.patch_bytes = size_t(RoundUp(part * part_depth * bytes, 64));
  const int64_t rows = feature_last ? part : tasks.features_per_part;
  const int64_t columns = feature_last ? tasks.features_per_part : part;
  tasks.scratch_bytes =
      tasks.patch_bytes +
      size_t(RoundUp(
          int64_t(kernels::Kernels().gemm_scratch_bytes(product, rows, columns, part_depth)), 64));
  return tasks;
}

class Products {
 public:
  Products(Patches patches, KernelMatrix kernel, Tasks tasks, DType product)
      : patches_(std::move(patches)),
        kernel_(kernel),
        tasks_(std::move(tasks)),
        bytes_(int64_t(DTypeBytes(product))),
        sum_bytes_(int64_t(DTypeBytes(kernels::AccumulatorType(product)))),
        gemm_(kernels::Kernels().gemm[size_t(product)]),
        copy_(kernels::Kernels().copy[kernels::SizeIndex(DTypeBytes(product))]) {}

  void Run(const Frame& frame, std::byte* out, std::byte* scratch) const {
    const std::byte* in = frame.At(patches_.buffer) + patches_.offset * bytes_;
    const std::byte* kernel = kernel_.at.At(frame);
    const int64_t count = tasks_.groups * tasks_.positions.count * tasks_.feature_parts;
    frame.pool->ParallelFor(tasks_.workers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w)
        for (int64_t i = count * w / tasks_.workers; i < count * (w + 1) / tasks_.workers; ++i)
          Task(i, in, kernel, out, scratch + size_t(w) * tasks_.scratch_bytes);
    });
  }

 private:
  void Task(int64_t i, const std::byte* in, const std::byte* kernel, std::byte* out,
            std::byte* scratch) const {
    const int64_t feature_part = i % tasks_.feature_parts;
    i /= tasks_.feature_parts;
    const Cut::Part at = tasks_.positions.At(i % tasks_.positions.count, patches_.position_strides);
    const int64_t group = i / tasks_.positions.count;
    const int64_t feature = group * tasks_.features + feature_part * tasks_.features_per_part;
    const int64_t features =
        std::min(tasks_.features_per_part, (group + 1) * tasks_.features - feature);
    in += (group * patches_.group_stride + at.offset) * bytes_;
    kernel += feature * kernel_.feature_stride * bytes_;
    if (tasks_.feature_last) {
      out += (at.first * tasks_.all_features + feature) * sum_bytes_;
    } else {
      const int64_t batch = at.first / tasks_.spatial_positions;
      out += ((batch * tasks_.all_features + feature) * tasks_.spatial_positions +
              at.first % tasks_.spatial_positions) *
             sum_bytes_;
    }
    for (int64_t d = 0; d < tasks_.depth.count; ++d) {
      const Cut::Part deep = tasks_.depth.At(d, patches_.depth_strides);
      const std::byte* patch = in + deep.offset * bytes_;
      int64_t position_stride = tasks_.position_axis.stride;
      int64_t depth_stride = tasks_.depth_axis.stride;
      if (!tasks_.in_place) {
        position_stride = tasks_.depth_first ? deep.elements : 1;
        depth_stride = tasks_.depth_first ? 1 : at.elements;
        CopyPatches(patch, at, deep, scratch);
        patch = scratch;
      }
      kernels::GemmArgs args{};
      args.k = deep.elements;
      args.c = out;
      args.accumulate = d > 0;
      const std::byte* part = kernel + deep.first * kernel_.depth_stride * bytes_;
      if (tasks_.feature_last) {
        args.m = at.elements, args.n = features;
        args.a = patch, args.a_row = position_stride, args.a_col = depth_stride;
        args.b = part, args.b_row = kernel_.depth_stride, args.b_col = kernel_.feature_stride;
        args.c_row = tasks_.all_features;
      } else {
        args.m = features, args.n = at.elements;
        args.a = part, args.a_row = kernel_.feature_stride, args.a_col = kernel_.depth_stride;
        args.b = patch, args.b_row = depth_stride, args.b_col = position_stride;
        args.c_row = tasks_.spatial_positions;
      }
      gemm_(args, scratch + tasks_.patch_bytes);
    }
  }

  // A part of the positions by a part of the depth, dense.
  void CopyPatches(const std::byte* in, const Cut::Part& at, const Cut::Part& deep,
                   std::byte* out) const {
    int64_t dims[kernels::kMaxCopyRank], from[kernels::kMaxCopyRank], to[kernels::kMaxCopyRank];
    int64_t rank = 0;
    auto add = [&](const Cut& cut, const Cut::Part& part, const Dims& strides, int64_t step) {
      const size_t last = cut.dims.size();
      for (size_t d = last; d-- > cut.axis; ++rank) {
        dims[rank] = d == cut.axis ? part.on_axis : cut.dims[d];
        from[rank] = strides[d] * bytes_;
        to[rank] = step;
        step *= dims[rank];
      }
    };
    add(tasks_.positions, at, patches_.position_strides,
        (tasks_.depth_first ? deep.elements : 1) * bytes_);
    add(tasks_.depth, deep, patches_.depth_strides,
        (tasks_.depth_first ? 1 : at.elements) * bytes_);
    copy_({rank, dims, in, from, out, to});
  }

  Patches patches_;
  KernelMatrix kernel_;
  Tasks tasks_;
  int64_t bytes_, sum_bytes_;
  kernels::GemmFn gemm_;
  kernels::CopyFn copy_;
};

}  // namespace

void EmitConvolution(PlanBuilder& b, const Op& op, const Convolution& shape, Place out) {
  const DType product = shape.lhs.dtype;
  int64_t elements = shape.lhs.dims[0] / shape.batch_groups * shape.out_features();
  for (const Convolution::Window& window : shape.windows) elements *= window.positions;
  if (shape.kernel.num_elements() == 0) {  // sums of nothing
    const size_t bytes = size_t(elements) * DTypeBytes(kernels::AccumulatorType(product));
    b.Emit("clear", {.reads = {}, .writes = {out.buffer}}, [=](const Frame& frame) {
      std::memset(out.At(frame), 0, bytes);
      return Status();
    });
    return;
  }
  Patches patches = PatchesOf(b, shape);
  const KernelMatrix kernel = KernelOf(b, shape, patches.feature_last);
  Tasks tasks = TasksOf(b, shape, patches);
  b.AddFlops(2.0 * double(elements) * double(Product(patches.depth)));
  BufferId scratch = b.NewTemp(std::max<size_t>(tasks.scratch_bytes * size_t(tasks.workers), 64));
  Uses uses{.reads = {patches.buffer, kernel.at.buffer}, .writes = {out.buffer, scratch}};
  Products products(std::move(patches), kernel, std::move(tasks), product);
  b.Emit(op, std::move(uses), [=, products = std::move(products)](const Frame& frame) {
    products.Run(frame, out.At(frame), frame.At(scratch));
    return Status();
  });
}

}  // namespace PJRT_PLUGIN_NS::reference
