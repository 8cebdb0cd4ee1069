#ifndef PROGRAM_LEGACY_PROGRAMS_H_
#define PROGRAM_LEGACY_PROGRAMS_H_

// Programs for tests of what older frameworks say differently: one computation of four devices, as
// it is sent for each partitioner.

#include <string_view>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

// Each device adds its number to its two rows of eight.
inline constexpr std::string_view kForShardy = R"("builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}], function_type = (tensor<8x2xi32>) -> tensor<8x2xi32>, res_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%0: tensor<8x2xi32>):
    %1 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<8x2xi32>) -> tensor<8x2xi32>
    %2 = "sdy.manual_computation"(%1) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}> ({
    ^bb0(%3: tensor<2x2xi32>):
      %4 = "stablehlo.partition_id"() : () -> tensor<ui32>
      %5 = "stablehlo.convert"(%4) : (tensor<ui32>) -> tensor<i32>
      %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x2xi32>
      %7 = "stablehlo.add"(%3, %6) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
      "sdy.return"(%7) : (tensor<2x2xi32>) -> ()
    }) : (tensor<8x2xi32>) -> tensor<8x2xi32>
    "func.return"(%2) : (tensor<8x2xi32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
)";

#define PJRT_PLUGIN_CUSTOM_CALL(target)                                           \
  "<{api_version = 1 : i32, backend_config = \"\", call_target_name = \"" target  \
  "\", called_computations = [], has_side_effect = false, operand_layouts = [], " \
  "output_operand_aliases = [], result_layouts = []}>"
inline constexpr std::string_view kForGspmd =
    R"("builtin.module"() ({
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[4,1]<=[4]}"}], function_type = (tensor<8x2xi32>) -> tensor<8x2xi32>, res_attrs = [{mhlo.sharding = "{devices=[4,1]<=[4]}"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%0: tensor<8x2xi32>):
    %1 = "stablehlo.custom_call"(%0) )" PJRT_PLUGIN_CUSTOM_CALL(
        "Sharding") R"( {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<8x2xi32>) -> tensor<8x2xi32>
    %2 = "stablehlo.custom_call"(%1) )" PJRT_PLUGIN_CUSTOM_CALL("SPMDFullToShardShape") R"( {mhlo.sharding = "{manual}"} : (tensor<8x2xi32>) -> tensor<2x2xi32>
    %3 = "func.call"(%2) <{callee = @shmap_body}> : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %4 = "stablehlo.custom_call"(%3) )" PJRT_PLUGIN_CUSTOM_CALL("Sharding") R"( {mhlo.sharding = "{manual}"} : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %5 = "stablehlo.custom_call"(%4) )" PJRT_PLUGIN_CUSTOM_CALL("SPMDShardToFullShape") R"( {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<2x2xi32>) -> tensor<8x2xi32>
    "func.return"(%5) : (tensor<8x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x2xi32>) -> tensor<2x2xi32>, sym_name = "shmap_body", sym_visibility = "private"}> ({
  ^bb0(%3: tensor<2x2xi32>):
    %4 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %5 = "stablehlo.convert"(%4) : (tensor<ui32>) -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x2xi32>
    %7 = "stablehlo.add"(%3, %6) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    "func.return"(%7) : (tensor<2x2xi32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
)";

// Shardy's attributes as text, with quotes escaped once more.
inline constexpr std::string_view kForEarlyShardy =
    R"("builtin.module"() ({
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[4,1]<=[4]}"}], function_type = (tensor<8x2xi32>) -> tensor<8x2xi32>, res_attrs = [{mhlo.sharding = "{devices=[4,1]<=[4]}"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%0: tensor<8x2xi32>):
    %1 = "stablehlo.custom_call"(%0) )" PJRT_PLUGIN_CUSTOM_CALL(
        "xla.sdy.GlobalToLocalShape") R"( : (tensor<8x2xi32>) -> tensor<2x2xi32>
    %2 = "func.call"(%1) <{callee = @body}> {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\\22x\\\22}, {}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\\\22x\\\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\\22x\\\22}, {}]>]>"}} : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %3 = "stablehlo.custom_call"(%2) )" PJRT_PLUGIN_CUSTOM_CALL("xla.sdy.LocalToGlobalShape") R"( : (tensor<2x2xi32>) -> tensor<8x2xi32>
    %4 = "stablehlo.custom_call"(%3) )" PJRT_PLUGIN_CUSTOM_CALL("xla.sdy.FuncResultSharding") R"( : (tensor<8x2xi32>) -> tensor<8x2xi32>
    "func.return"(%4) : (tensor<8x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x2xi32>) -> tensor<2x2xi32>, sym_name = "body", sym_visibility = "private"}> ({
  ^bb0(%3: tensor<2x2xi32>):
    %4 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %5 = "stablehlo.convert"(%4) : (tensor<ui32>) -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x2xi32>
    %7 = "stablehlo.add"(%3, %6) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    "func.return"(%7) : (tensor<2x2xi32>) -> ()
  }) : () -> ()
}) {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\\\22x\\\22=4]>}"}, mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
)";

// The two largest of each row, largest first.
inline constexpr std::string_view kTopK =
    R"("builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>), sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%0: tensor<2x4xf32>):
    %1:2 = "stablehlo.custom_call"(%0) )" PJRT_PLUGIN_CUSTOM_CALL(
        "mhlo.topk") R"( {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    "func.return"(%1#0, %1#1) : (tensor<2x2xf32>, tensor<2x2xi32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
)";

// jax.lax.approx_max_k of two elements among four.
inline constexpr std::string_view kApproxTopK =
    R"(func.func private @above(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func public @main(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %least, %none) {called_computations = [@above], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi32>
}
)";
#undef PJRT_PLUGIN_CUSTOM_CALL

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_LEGACY_PROGRAMS_H_
