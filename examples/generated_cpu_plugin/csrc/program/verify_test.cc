#include "program/verify.h"

#include <string>

#include "program/op_table.h"
#include "program/testing_builder.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// What Verify says of main(arguments) with one op, its operands the arguments; "" when all is well.
std::string Check(OpCode code, std::vector<Type> arguments, std::vector<Type> results,
                  AttributeList attributes = {}) {
  Builder b(arguments);
  std::vector<Value*> operands;
  for (size_t i = 0; i < arguments.size(); ++i) operands.push_back(b.argument(i));
  Op* op = b.AddOp(code, operands, std::move(results), std::move(attributes));
  std::vector<Value*> returned;
  for (const auto& result : op->results) returned.push_back(result.get());
  b.Return(returned);
  return std::string(Verify(b.module()).message());
}

TEST(Verify, SaysOpTypesPlaceAndFault) {
  EXPECT_EQ(
      Check(OpCode::kAdd, {F32({2}), F32({3})}, {F32({2})}),
      "op \"add\"(tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32> (jit(f)/op at model.py:7:3): "
      "the operands differ in type");
}

TEST(Verify, ChecksElementwiseOps) {
  EXPECT_EQ(Check(OpCode::kAdd, {F32({2}), F32({2})}, {F32({2})}), "");
  EXPECT_CONTAINS(Check(OpCode::kAdd, {F32({2})}, {F32({2})}), "wrong number of operands");
  EXPECT_CONTAINS(Check(OpCode::kAnd, {F32({}), F32({})}, {F32({})}),
                  "not defined for this element");
  EXPECT_CONTAINS(Check(OpCode::kSine, {F32({2})}, {F32({3})}), "differ in shape");
  EXPECT_CONTAINS(Check(OpCode::kSine, {F32({2})}, {I32({2})}), "differ in element type");
  EXPECT_EQ(Check(OpCode::kConvert, {F32({2})}, {I32({2})}), "");
  EXPECT_EQ(Check(OpCode::kSelect, {Bool({}), F32({2}), F32({2})}, {F32({2})}), "");
  EXPECT_CONTAINS(Check(OpCode::kSelect, {Bool({3}), F32({2}), F32({2})}, {F32({2})}),
                  "neither a scalar nor of the values' shape");
  EXPECT_EQ(Check(OpCode::kBitcastConvert, {F32({2})}, {Type::Tensor(DType::kU8, {2, 4})}), "");
  EXPECT_CONTAINS(Check(OpCode::kBitcastConvert, {F32({2})}, {Type::Tensor(DType::kU8, {8})}),
                  "do not hold the same bits");
}

TEST(Verify, WantsAttributes) {
  EXPECT_CONTAINS(Check(OpCode::kTranspose, {F32({2, 3})}, {F32({3, 2})}),
                  "attribute permutation is missing or no list of integers");
  EXPECT_CONTAINS(
      Check(OpCode::kTranspose, {F32({2, 3})}, {F32({3, 2})}, {{"permutation", {true}}}),
      "attribute permutation is missing or no list of integers");
  EXPECT_CONTAINS(Check(OpCode::kCompare, {F32({}), F32({})}, {Bool({})},
                        {{"compare_type", {int64_t{1}}}, {"comparison_direction", {int64_t{9}}}}),
                  "comparison_direction is missing or no comparison direction");
}

TEST(Verify, ChecksMoves) {
  const auto transpose = [](Ints permutation) {
    return Check(OpCode::kTranspose, {F32({2, 3})}, {F32({3, 2})},
                 {{"permutation", {permutation}}});
  };
  EXPECT_EQ(transpose({1, 0}), "");
  EXPECT_CONTAINS(transpose({0, 1}), "not the permuted operand {permutation = array<i64: 0, 1>}");
  for (const Ints& bad : {Ints{1, 1}, Ints{1, 2}, Ints{1}, Ints{-1, 0}, Ints{}})
    EXPECT_CONTAINS(transpose(bad), "none of the operand's dimensions");
  const auto slice = [](Ints starts, Ints limits, Ints strides, int64_t size) {
    return Check(
        OpCode::kSlice, {F32({5})}, {F32({size})},
        {{"limit_indices", {limits}}, {"start_indices", {starts}}, {"strides", {strides}}});
  };
  EXPECT_EQ(slice({0}, {5}, {2}, 3), "");
  EXPECT_CONTAINS(slice({0}, {6}, {1}, 6), "0 <= start <= limit <= size");
  EXPECT_CONTAINS(slice({0}, {5}, {0}, 5), "positive stride");
  EXPECT_CONTAINS(slice({0}, {5}, {2}, 2), "not of the size of the slice");
  EXPECT_CONTAINS(slice({}, {}, {}, 5), "not given for each dimension");
  EXPECT_CONTAINS(Check(OpCode::kReshape, {F32({4})}, {F32({5})}), "number of elements");
  EXPECT_CONTAINS(
      Check(OpCode::kBroadcastInDim, {F32({2})}, {F32({3})}, {{"broadcast_dimensions", {Ints{0}}}}),
      "neither 1 nor that of the result");
  EXPECT_CONTAINS(
      Check(OpCode::kConcatenate, {F32({2}), F32({2})}, {F32({5})}, {{"dimension", {int64_t{0}}}}),
      "one after the other");
  EXPECT_CONTAINS(Check(OpCode::kPad, {F32({2}), F32({})}, {F32({2})},
                        {{"edge_padding_high", {Ints{0}}},
                         {"edge_padding_low", {Ints{int64_t{1} << 62}}},
                         {"interior_padding", {Ints{0}}}}),
                  "beyond all memory");
}

AttributeList GatherAttributes(Ints slice_sizes, Ints start_index_map) {
  return {{"collapsed_slice_dims", {Ints{0}}},
          {"index_vector_dim", {int64_t{1}}},
          {"indices_are_sorted", {false}},
          {"offset_dims", {Ints{1}}},
          {"operand_batching_dims", {Ints()}},
          {"slice_sizes", {std::move(slice_sizes)}},
          {"start_index_map", {std::move(start_index_map)}},
          {"start_indices_batching_dims", {Ints()}}};
}

TEST(Verify, ChecksGathers) {
  const auto gather = [](Ints sizes, Ints map) {
    return Check(OpCode::kGather, {F32({4, 6}), I32({3, 1})}, {F32({3, 6})},
                 GatherAttributes(std::move(sizes), std::move(map)));
  };
  EXPECT_EQ(gather({1, 6}, {0}), "");
  EXPECT_CONTAINS(gather({1, 7}, {0}), "a slice exceeds the operand");
  EXPECT_CONTAINS(gather({2, 6}, {0}), "slice size above 1");
  EXPECT_CONTAINS(gather({1, 6}, {2}), "out of range or repeated");
  EXPECT_CONTAINS(gather({1, 6}, {0, 1}), "the index vector has another size");
  EXPECT_CONTAINS(gather({1}, {0}), "slice_sizes do not fit the rank");
}

TEST(Verify, ChecksDots) {
  const auto dot = [](Ints lhs, Ints rhs, Dims result) {
    return Check(OpCode::kDotGeneral, {F32({2, 3}), F32({3, 4})}, {F32(std::move(result))},
                 {{"lhs_batching_dimensions", {Ints()}},
                  {"lhs_contracting_dimensions", {std::move(lhs)}},
                  {"precision_config", {Ints{0, 0}}},
                  {"rhs_batching_dimensions", {Ints()}},
                  {"rhs_contracting_dimensions", {std::move(rhs)}}});
  };
  EXPECT_EQ(dot({1}, {0}, {2, 4}), "");
  EXPECT_CONTAINS(dot({1}, {1}, {2, 3}), "paired dimensions differ in size");
  EXPECT_CONTAINS(dot({1}, {}, {2, 4}), "do not pair up");
  EXPECT_CONTAINS(dot({2}, {0}, {2, 4}), "out of range");
  EXPECT_CONTAINS(dot({1}, {0}, {4, 2}), "batch, lhs and rhs");
}

// A reduce over `dims` whose body adds two scalars of type `element`.
std::string CheckReduce(Dims operand, Ints dims, Dims result, Type element) {
  Builder b({F32(std::move(operand)), F32({})});
  Op* reduce = b.AddOp(OpCode::kReduce, {b.argument(0), b.argument(1)}, {F32(std::move(result))},
                       {{"dimensions", {std::move(dims)}}});
  b.BeginRegion(reduce, {element, element});
  b.Return({b.Add(OpCode::kAdd, {b.argument(0), b.argument(1)}, element)});
  b.Return({reduce->result()});
  return std::string(Verify(b.module()).message());
}

TEST(Verify, ChecksReductions) {
  EXPECT_EQ(CheckReduce({2, 3}, {0}, {3}, F32({})), "");
  EXPECT_EQ(CheckReduce({0, 3}, {0}, {3}, F32({})), "");
  EXPECT_CONTAINS(CheckReduce({2, 3}, {0}, {2}, F32({})), "dimensions that are kept");
  EXPECT_CONTAINS(CheckReduce({2, 3}, {2}, {2, 3}, F32({})), "out of range");
  EXPECT_CONTAINS(CheckReduce({2, 3}, {0}, {3}, I32({})), "does not map two scalars");
}

TEST(Verify, ChecksLoops) {
  Builder b({F32({})});
  Op* loop = b.AddOp(OpCode::kWhile, {b.argument(0)}, {F32({})});
  b.BeginRegion(loop, {F32({})});
  b.Return({b.argument(0)});  // not a boolean
  b.BeginRegion(loop, {F32({})});
  b.Return({b.argument(0)});
  b.Return({loop->result()});
  EXPECT_CONTAINS(Verify(b.module()).message(), "does not map the operands to a boolean scalar");
}

TEST(Verify, WantsReturns) {
  Builder b({F32({})});
  b.Add(OpCode::kSine, {b.argument(0)}, F32({}));
  EXPECT_CONTAINS(Verify(b.module()).message(), "function main has a block without return");
  Builder early({F32({})});
  early.Return({early.argument(0)});
  early.Return({early.argument(0)});
  EXPECT_CONTAINS(Verify(early.module()).message(), "before the end of its block");
}

TEST(Verify, WantsValuesDefinedBefore) {
  Builder b({F32({})});
  Value* sine = b.Add(OpCode::kSine, {b.argument(0)}, F32({}));
  Value* cosine = b.Add(OpCode::kCosine, {sine}, F32({}));
  b.Return({cosine});
  std::swap(b.function().body.ops[0], b.function().body.ops[1]);
  EXPECT_CONTAINS(Verify(b.module()).message(), "used before it is defined");
}

TEST(Verify, ChecksCalls) {
  Builder b({F32({})});
  b.Return({b.Add(OpCode::kCall, {b.argument(0)}, F32({}), {{"callee", {std::string("g")}}})});
  EXPECT_CONTAINS(Verify(b.module()).message(), "there is no function g");
  b.AddFunction({I32({})}, "g");
  b.Return({b.argument(0)});
  EXPECT_CONTAINS(Verify(b.module()).message(), "function g is of the type (tensor<i32>)");
}

TEST(Verify, RefusesRecursion) {
  Builder b({F32({})});
  b.Return({b.Add(OpCode::kCall, {b.argument(0)}, F32({}), {{"callee", {std::string("g")}}})});
  b.AddFunction({F32({})}, "g");
  b.Return({b.Add(OpCode::kCall, {b.argument(0)}, F32({}), {{"callee", {std::string("main")}}})});
  EXPECT_CONTAINS(Verify(b.module()).message(), "calls itself, directly or through others");
}

TEST(Verify, WantsMain) {
  Builder b({}, "other");
  b.Return({});
  EXPECT_CONTAINS(Verify(b.module()).message(), "no function main");
}

// The message for one argument attribute of a function of two arguments and two results.
std::string CheckArgumentAttribute(const char* name, Attribute value) {
  Builder b({F32({2}), F32({2})});
  b.function().argument_attributes[1] = {{name, std::move(value)}};
  b.Return({b.argument(0), b.argument(1)});
  return std::string(Verify(b.module()).message());
}

TEST(Verify, ChecksArgumentAttributes) {
  EXPECT_EQ(CheckArgumentAttribute("tf.aliasing_output", {int64_t{1}}), "");
  EXPECT_EQ(CheckArgumentAttribute("tf.aliasing_output", {int64_t{2}}),
            "attribute tf.aliasing_output of argument 1 of function main is 2; the function has 2 "
            "results, counted from 0");
  EXPECT_CONTAINS(CheckArgumentAttribute("tf.aliasing_output", {int64_t{-1}}), "is -1; ");
  EXPECT_CONTAINS(CheckArgumentAttribute("tf.aliasing_output", {true}), "is no integer");
  EXPECT_EQ(CheckArgumentAttribute("jax.buffer_donor", {true}), "");
  EXPECT_CONTAINS(CheckArgumentAttribute("jax.buffer_donor", {int64_t{1}}), "is no boolean");
  EXPECT_CONTAINS(CheckArgumentAttribute("mhlo.memory_kind", {int64_t{1}}), "is no text");
  EXPECT_CONTAINS(CheckArgumentAttribute("sdy.sharding", {std::string("x")}), "is no sharding");
  EXPECT_EQ(CheckArgumentAttribute("my.note", {int64_t{7}}), "");
}

TEST(Verify, RefusesTwoArgumentsDonatedToOneResult) {
  Builder b({F32({2}), F32({2})});
  for (AttributeList& attributes : b.function().argument_attributes)
    attributes = {{"tf.aliasing_output", {int64_t{0}}}};
  b.Return({b.argument(0)});
  EXPECT_CONTAINS(Verify(b.module()).message(), "that an earlier argument is donated to");
}

// Two operands, or one tuple of two, want two layouts, whatever the result is.
TEST(Verify, WantsALayoutForEachValueOfACustomCall) {
  Type tuple;
  tuple.kind = TypeKind::kTuple;
  tuple.elements = {F32({2}), F32({2})};
  const auto check = [&](size_t operand_layouts, size_t result_layouts) {
    Builder b({F32({2}), F32({2})});
    const auto layouts = [](size_t count) {
      return Attribute{std::vector<Attribute>(count, Attribute{Ints{0}})};
    };
    b.Add(OpCode::kCustomCall, {b.argument(0), b.argument(1)}, tuple,
          {{"api_version", {int64_t(CustomCallApiVersion::kTypedFfi)}},
           {"backend_config", {AttributeList()}},
           {"call_target_name", {std::string("f")}},
           {"called_computations", {std::vector<Attribute>()}},
           {"has_side_effect", {false}},
           {"operand_layouts", layouts(operand_layouts)},
           {"output_operand_aliases", {std::vector<Attribute>()}},
           {"result_layouts", layouts(result_layouts)},
           {"result_tilings", {std::vector<Attribute>()}}});
    b.Return({b.argument(0)});
    return std::string(Verify(b.module()).message());
  };
  EXPECT_EQ(check(0, 0), "");
  EXPECT_EQ(check(2, 2), "");
  EXPECT_CONTAINS(check(1, 2), "not one layout a value");
  EXPECT_CONTAINS(check(2, 1), "not one layout a value");
}

TEST(Verify, RefusesDynamicShapes) {
  Builder b({F32({kDynamic})});
  b.Return({b.argument(0)});
  const backend::Status status = Verify(b.module());
  EXPECT_EQ(status.code(), backend::Code::kUnimplemented);
  EXPECT_CONTAINS(status.message(), "tensor<?xf32>");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
