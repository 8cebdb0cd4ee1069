#include "program/op_table.h"

#include <algorithm>
#include <set>
#include <string>

#include "program/testing_builder.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

TEST(OpTable, HasEachOpByItsName) {
  std::set<std::string_view> names;
  for (const OpInfo& info : AllOps()) {
    EXPECT_TRUE(names.insert(info.name).second);
    EXPECT_EQ(FindOp(info.name), &info);
    EXPECT_EQ(&InfoOf(info.code), &info);
  }
  EXPECT_EQ(FindOp("frobnicate"), nullptr);
}

// Properties hold attributes without names, in this order.
TEST(OpTable, ListsAttributesAlphabetically) {
  for (const OpInfo& info : AllOps()) {
    for (size_t i = 1; i < info.attributes.size(); ++i)
      EXPECT_TRUE(info.attributes[i - 1].name < info.attributes[i].name);
    for (const AttrInfo& attribute : info.attributes) {
      EXPECT_LE(1, attribute.first_version);
      EXPECT_LE(attribute.first_version, attribute.last_version);
      EXPECT_LE(attribute.last_version, info.versions);
    }
  }
}

TEST(OpTable, KnowsVersions) {
  const OpInfo& gather = *FindOp("gather");
  const auto batching =
      std::find_if(gather.attributes.begin(), gather.attributes.end(),
                   [](const AttrInfo& a) { return a.name == "operand_batching_dims"; });
  EXPECT_EQ(batching->first_version, 2);
  EXPECT_FALSE(batching->optional);
  EXPECT_TRUE(FindOp("dot_general")->attributes[0].optional);
}

TEST(OpTable, DealsOperandsOut) {
  Builder b({F32({2}), F32({2}), F32({}), F32({}), I32({1})});
  const auto at = [&](size_t i) { return b.argument(i); };
  const Op* reduce = b.AddOp(OpCode::kReduce, {at(0), at(1), at(2), at(3)}, {F32({}), F32({})});
  EXPECT_EQ(Operands(*reduce, 0).size(), 2u);
  EXPECT_EQ(Operands(*reduce, 1)[0], at(2));
  const Op* scatter =
      b.AddOp(OpCode::kScatter, {at(0), at(1), at(4), at(0), at(1)}, {F32({2}), F32({2})});
  EXPECT_EQ(Operands(*scatter, 1)[0], at(4));
  EXPECT_EQ(Operands(*scatter, 2)[1], at(1));
  const Op* slice = b.AddOp(OpCode::kDynamicSlice, {at(2)}, {F32({})});
  EXPECT_EQ(Operands(*slice, 0)[0], at(2));
  EXPECT_TRUE(Operands(*slice, 1).empty());
}

TEST(OpTable, CountsOperands) {
  const OpInfo& scatter = InfoOf(OpCode::kScatter);
  EXPECT_TRUE(Fits(scatter.operands, 3));
  EXPECT_TRUE(Fits(scatter.operands, 5));
  EXPECT_FALSE(Fits(scatter.operands, 4));
  EXPECT_FALSE(Fits(scatter.operands, 0));
  EXPECT_FALSE(Fits(InfoOf(OpCode::kAdd).operands, 3));
  EXPECT_TRUE(Fits(InfoOf(OpCode::kCase).regions, 7));
}

TEST(OpTable, SpellsEnumerations) {
  EXPECT_EQ(EnumName(AttrKind::kComparisonDirection, int64_t(ComparisonDirection::kLt)), "LT");
  EXPECT_EQ(EnumName(AttrKind::kComparisonDirection, 6), "");
  EXPECT_EQ(EnumValue(AttrKind::kTranspose, "ADJOINT"), int64_t(Transpose::kAdjoint));
  EXPECT_FALSE(EnumValue(AttrKind::kTranspose, "adjoint").has_value());
}

TEST(OpTable, SeesSideEffectsInRegions) {
  Builder b({Bool({}), F32({})});
  Op* branch = b.AddOp(OpCode::kIf, {b.argument(0)}, {F32({})});
  Value* x = b.argument(1);
  b.BeginRegion(branch, {});
  b.Return({x});
  b.BeginRegion(branch, {});
  b.Return({x});
  EXPECT_FALSE(HasSideEffect(*branch));
  Op* other = b.AddOp(OpCode::kIf, {b.argument(0)}, {F32({})});
  b.BeginRegion(other, {});
  b.Return({b.Add(OpCode::kCollectivePermute, {x}, F32({}))});
  EXPECT_TRUE(HasSideEffect(*other));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
