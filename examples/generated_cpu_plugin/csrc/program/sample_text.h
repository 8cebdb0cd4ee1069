#ifndef PROGRAM_SAMPLE_TEXT_H_
#define PROGRAM_SAMPLE_TEXT_H_

// A program as people and other clients than JAX send it: each form that an operation has of its
// own, one in generic form among them, aliases and locations.

#include <string_view>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

// clang-format off
inline constexpr std::string_view kSampleText = R"(
#loc1 = loc("x")
!row = tensor<4xf32>
module @sample attributes {mhlo.num_partitions = 2 : i32} {  // a comment
  sdy.mesh @mesh = <["x"=2]> loc(#loc)
  func.func public @main(%arg0: tensor<4xf32> {jax.arg_info = "a", mhlo.sharding = "{replicated}"} loc("a"), %i: tensor<i32>) -> (tensor<4xf32> {jax.result_info = "r"}, tensor<i32>) attributes {note = "n"} {
    %cst = stablehlo.constant dense<[1.0, -2.5, 0x7FC00000, 3.0]> : !row loc(#loc3)
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<"0x0100000003000000"> : tensor<2xi32>
    %0 = stablehlo.add %arg0, %cst : tensor<4xf32> loc(#loc4)
    %1 = "stablehlo.multiply"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %3 = stablehlo.select %2, %0, %1 : tensor<4xi1>, tensor<4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT] : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    %7 = stablehlo.slice %6 [0:3:2, 1:3] : (tensor<3x3xf32>) -> tensor<2x2xf32>
    %8 = stablehlo.pad %7, %zero, low = [1, 0], high = [0, -1], interior = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<3x2xf32>
    %9 = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x2xf32>, tensor<f32>) -> tensor<2xf32>
    %10 = stablehlo.iota dim = 0 : tensor<2xi32>
    %11:2 = stablehlo.reduce(%9 init: %zero), (%10 init: %i) across dimensions = [0] : (tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%p: tensor<f32>, %r: tensor<f32>) (%q: tensor<i32>, %s: tensor<i32> loc("s"))  {
      %20 = stablehlo.subtract %p, %r : tensor<f32>
      %21 = stablehlo.subtract %s, %q : tensor<i32>
      stablehlo.return %20, %21 : tensor<f32>, tensor<i32>
    } loc(#loc1)
    %12:2 = stablehlo.while(%n = %11#1, %x = %3) : tensor<i32>, tensor<4xf32>
    cond {
      %20 = stablehlo.compare GT, %n, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    } do {
      %20 = func.call @half(%x) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %i, %20 : tensor<i32>, tensor<4xf32>
    }
    %13 = stablehlo.convolution(%8, %7) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
    %14 = stablehlo.custom_call @target(%13) {backend_config = {k = 3 : i64}, api_version = 4 : i32, has_side_effect = true} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %15 = stablehlo.dynamic_slice %14, %i, %i, sizes = [1, 2] : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %16 = stablehlo.concatenate %15, %15, dim = 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
    %17 = stablehlo.reshape %16 : (tensor<1x4xf32>) -> tensor<4xf32>
    %18 = stablehlo.reduce_precision %17, format = e5m10 : tensor<4xf32>
    %19:2 = stablehlo.optimization_barrier %18, %12#0 : tensor<4xf32>, tensor<i32>
    return %19#0, %19#1 : tensor<4xf32>, tensor<i32>
  }
  func.func private @half(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, rtol = 0.5, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
#loc = loc(unknown)
#loc2 = loc("model.py":12:3 to :9)
#loc3 = loc(fused["constant", callsite(#loc2 at "main.py":1:2)])
#loc4 = loc("jit(f)/add"(callsite(#loc2 at #loc3)))
)";
// clang-format on

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_SAMPLE_TEXT_H_
