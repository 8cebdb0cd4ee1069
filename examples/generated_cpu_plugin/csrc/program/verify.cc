#include "program/verify.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program/call_graph.h"
#include "program/op_table.h"
#include "program/print_attributes.h"
#include "program/verify_function.h"
#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

std::string Describe(const Op& op) {
  std::string text = "op " + Signature(op);
  if (const std::string where = ToString(*op.location); !where.empty()) text += " (" + where + ")";
  return text;
}

Status Wrong(const Op& op, std::string_view problem) {
  return backend::InvalidArgument(Describe(op) + ": " + std::string(problem));
}

// Whether the attribute holds what its kind stands for.
bool Holds(AttrKind kind, const Attribute& attribute) {
  const auto all_ints = [](const std::vector<Attribute>& rows) {
    for (const Attribute& row : rows)
      if (row.As<Ints>() == nullptr) return false;
    return true;
  };
  switch (kind) {
    case AttrKind::kAny:
      return true;
    case AttrKind::kBool:
      return attribute.As<bool>() != nullptr;
    case AttrKind::kFloat:
      return attribute.As<double>() != nullptr;
    case AttrKind::kString:
      return attribute.As<std::string>() != nullptr;
    case AttrKind::kPrecisions:
    case AttrKind::kInts:
      return attribute.As<Ints>() != nullptr;
    case AttrKind::kRows: {
      const auto* rows = attribute.As<std::vector<Attribute>>();
      return rows != nullptr && all_ints(*rows);
    }
    case AttrKind::kList:
      return attribute.As<std::vector<Attribute>>() != nullptr;
    case AttrKind::kDict:
    case AttrKind::kAccuracy:
      return attribute.As<AttributeList>() != nullptr;
    case AttrKind::kLiteral: {
      const auto* literal = attribute.As<Literal>();
      return literal != nullptr && literal->data != nullptr;
    }
    case AttrKind::kSharding:
      return attribute.As<Sharding>() != nullptr;
    case AttrKind::kInt:
      return attribute.As<int64_t>() != nullptr;
    default: {
      const auto* value = attribute.As<int64_t>();
      return value != nullptr && !EnumName(kind, *value).empty();
    }
  }
}

// The family of the specification's constraints; null: none beyond the table's.
using Check = void (*)(OpCheck&);
Check CheckOf(OpCode code) {
  switch (code) {
    case OpCode::kBroadcast:
    case OpCode::kBroadcastInDim:
    case OpCode::kConcatenate:
    case OpCode::kConstant:
    case OpCode::kIota:
    case OpCode::kPad:
    case OpCode::kReshape:
    case OpCode::kReverse:
    case OpCode::kSlice:
    case OpCode::kTranspose:
      return CheckShapeOp;
    case OpCode::kDynamicSlice:
    case OpCode::kDynamicUpdateSlice:
    case OpCode::kGather:
    case OpCode::kScatter:
      return CheckIndexing;
    case OpCode::kMap:
    case OpCode::kReduce:
    case OpCode::kReduceWindow:
    case OpCode::kSelectAndScatter:
    case OpCode::kSort:
      return CheckReduction;
    case OpCode::kConvolution:
    case OpCode::kDot:
    case OpCode::kDotGeneral:
      return CheckContraction;
    case OpCode::kBatchNormGrad:
    case OpCode::kBatchNormInference:
    case OpCode::kBatchNormTraining:
    case OpCode::kCholesky:
    case OpCode::kFft:
    case OpCode::kRng:
    case OpCode::kRngBitGenerator:
    case OpCode::kTriangularSolve:
      return CheckNumerics;
    case OpCode::kCase:
    case OpCode::kCustomCall:
    case OpCode::kGetTupleElement:
    case OpCode::kIf:
    case OpCode::kOptimizationBarrier:
    case OpCode::kTuple:
    case OpCode::kWhile:
      return CheckControlFlow;
    case OpCode::kAllGather:
    case OpCode::kAllReduce:
    case OpCode::kAllToAll:
    case OpCode::kCollectiveBroadcast:
    case OpCode::kCollectivePermute:
    case OpCode::kCollectiveReduce:
    case OpCode::kCrossReplicaSum:
    case OpCode::kPartitionId:
    case OpCode::kReduceScatter:
    case OpCode::kReplicaId:
    case OpCode::kSdyManualComputation:
    case OpCode::kSdyShardingConstraint:
      return CheckCollective;
    case OpCode::kAfterAll:
    case OpCode::kAsyncDone:
    case OpCode::kAsyncStart:
    case OpCode::kCall:
    case OpCode::kComposite:
    case OpCode::kCreateToken:
    case OpCode::kDynamicBroadcastInDim:
    case OpCode::kDynamicConv:
    case OpCode::kDynamicGather:
    case OpCode::kDynamicIota:
    case OpCode::kDynamicPad:
    case OpCode::kDynamicReshape:
    case OpCode::kEinsum:
    case OpCode::kGetDimensionSize:
    case OpCode::kInfeed:
    case OpCode::kOutfeed:
    case OpCode::kRealDynamicSlice:
    case OpCode::kRecv:
    case OpCode::kReturn:
    case OpCode::kSend:
    case OpCode::kSdyShardingGroup:
    case OpCode::kSetDimensionSize:
    case OpCode::kTorchIndexSelect:
    case OpCode::kUnaryEinsum:
    case OpCode::kUniformDequantize:
    case OpCode::kUniformQuantize:
      return nullptr;
    default:
      return CheckElementwise;
  }
}

// Ops whose operands or results need not be tensors.
bool TakesAnyType(OpCode code) {
  return CheckOf(code) == nullptr || CheckOf(code) == CheckControlFlow;
}

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  Status Run() {
    for (const auto& function : module_.functions)
      if (!functions_.emplace(function->name, function.get()).second)
        return backend::InvalidArgument("two functions are called " + function->name);
    if (!functions_.contains("main"))
      return backend::InvalidArgument("the program has no function main to begin with");
    for (const auto& function : module_.functions)
      PJRT_PLUGIN_RETURN_IF_ERROR(CheckFunction(*function));
    return CheckNoRecursion();
  }

 private:
  Status CheckFunction(const Function& function) {
    const Type& type = function.type;
    const size_t num_results = type.elements.size() - type.num_inputs;
    caller_ = function.name;
    Status body = CheckBlock(function.body);
    if (!body.ok()) return body;
    const std::vector<Type> inputs(type.elements.begin(),
                                   type.elements.begin() + std::ptrdiff_t(type.num_inputs));
    const std::vector<Type> results(type.elements.begin() + std::ptrdiff_t(type.num_inputs),
                                    type.elements.end());
    if (type.kind != TypeKind::kFunction || !HasSignature(function.body, inputs, results))
      return backend::InvalidArgument("the body of function " + function.name +
                                      " is not of its type " + ToString(type));
    if (function.argument_attributes.size() != type.num_inputs ||
        function.result_attributes.size() != num_results)
      return backend::InvalidArgument("function " + function.name +
                                      " has attributes for other than its arguments and results");
    return CheckFunctionAttributes(function);
  }

  Status CheckBlock(const Block& block) {
    if (block.ops.empty() || block.ops.back()->code != OpCode::kReturn)
      return backend::InvalidArgument("function " + caller_ + " has a block without return");
    for (const auto& argument : block.arguments) {
      if (!argument->type.is_static()) return Dynamic(argument->type);
      visible_.insert(argument.get());
    }
    for (const auto& op : block.ops) {
      PJRT_PLUGIN_RETURN_IF_ERROR(CheckOp(*op));
      if (op->code == OpCode::kReturn && op != block.ops.back())
        return Wrong(*op, "it stands before the end of its block");
      for (const auto& result : op->results) visible_.insert(result.get());
    }
    for (const auto& argument : block.arguments) visible_.erase(argument.get());
    for (const auto& op : block.ops)
      for (const auto& result : op->results) visible_.erase(result.get());
    return {};
  }

  Status CheckOp(const Op& op) {
    const OpInfo& info = InfoOf(op.code);
    if (!Fits(info.operands, op.operands.size())) return Wrong(op, "wrong number of operands");
    if (!Fits(info.results, op.results.size())) return Wrong(op, "wrong number of results");
    if (!Fits(info.regions, op.regions.size())) return Wrong(op, "wrong number of regions");
    for (const Value* operand : op.operands)
      if (!visible_.contains(operand)) return Wrong(op, "an operand is used before it is defined");
    for (const AttrInfo& declared : info.attributes) {
      const Attribute* attribute = op.Find(declared.name);
      if (attribute == nullptr ? !declared.optional : !Holds(declared.kind, *attribute))
        return Wrong(op, "attribute " + std::string(declared.name) + " is missing or no " +
                             std::string(AttrKindName(declared.kind)));
    }
    PJRT_PLUGIN_RETURN_IF_ERROR(CheckTypes(op));
    for (const auto& region : op.regions) PJRT_PLUGIN_RETURN_IF_ERROR(CheckBlock(*region));
    if (op.code == OpCode::kCall) return CheckCall(op, op.String("callee"));
    if (op.code == OpCode::kComposite) return CheckCall(op, op.String("decomposition"));
    if (op.code == OpCode::kCustomCall) return CheckCalledComputations(op);
    Check check = CheckOf(op.code);
    if (check == nullptr) return {};
    OpCheck result(op);
    check(result);
    if (result.problem().empty()) return {};
    std::string problem(result.problem());
    if (const std::string attributes = AttributesToString(op); !attributes.empty())
      problem += " {" + attributes + "}";
    if (result.unsupported()) return backend::Unimplemented(Describe(op) + ": " + problem);
    return Wrong(op, problem);
  }

  Status CheckTypes(const Op& op) {
    const bool any = TakesAnyType(op.code);
    for (const Value* operand : op.operands)
      if (!any && !operand->type.is_tensor()) return Wrong(op, "an operand is no tensor");
    for (const auto& result : op.results) {
      if (!any && !result->type.is_tensor()) return Wrong(op, "a result is no tensor");
      if (!result->type.is_static()) return Dynamic(result->type);
    }
    return {};
  }

  static Status Dynamic(const Type& type) {
    return backend::Unimplemented("a value of the type " + ToString(type) +
                                  "; sizes known only at run time are not supported, give the "
                                  "framework static shapes");
  }

  Status CheckCall(const Op& op, const std::string& callee) {
    const auto found = functions_.find(callee);
    if (found == functions_.end()) return Wrong(op, "there is no function " + callee);
    const Type& type = found->second->type;
    bool fits = type.kind == TypeKind::kFunction && type.num_inputs == op.operands.size() &&
                type.elements.size() == op.operands.size() + op.results.size();
    for (size_t i = 0; fits && i < type.elements.size(); ++i)
      fits = type.elements[i] ==
             (i < type.num_inputs ? op.operand_type(i) : op.type(i - type.num_inputs));
    if (!fits) return Wrong(op, "function " + callee + " is of the type " + ToString(type));
    return {};
  }

  Status CheckCalledComputations(const Op& op) {
    for (const Attribute& one :
         std::get<std::vector<Attribute>>(op.Find("called_computations")->value)) {
      const auto* name = one.As<std::string>();
      if (name == nullptr || !functions_.contains(*name))
        return Wrong(op, "a called computation is no function of the program");
    }
    OpCheck check(op);
    CheckControlFlow(check);
    return check.problem().empty() ? Status() : Wrong(op, check.problem());
  }

  Status CheckNoRecursion() {
    const std::vector<Function*> order = CalleesFirst(module_);
    if (order.size() == module_.functions.size()) return {};
    const std::unordered_set<const Function*> done(order.begin(), order.end());
    for (const auto& function : module_.functions)
      if (!done.contains(function.get()))
        return backend::InvalidArgument("function " + function->name +
                                        " calls itself, directly or through others");
    return {};
  }

  const Module& module_;
  std::unordered_map<std::string_view, const Function*> functions_;
  std::unordered_set<const Value*> visible_;
  std::string caller_;  // the function being checked
};

}  // namespace

Status Verify(const Module& module) { return Verifier(module).Run(); }

}  // namespace PJRT_PLUGIN_NS::program
