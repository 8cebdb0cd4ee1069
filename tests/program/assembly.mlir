// What JAX's own programs do not use of the forms that StableHLO's operations have in text, and what people write by hand.
// Each part is a program; its name follows the line of dashes.

// ---- elementwise
func.func @main(%a: tensor<4xf32>, %c: tensor<4xcomplex<f32>>, %i: tensor<4xi32>, %p: tensor<i1>, %q: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e+00, rtol = 5.000000e-01, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %1 = stablehlo.abs %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %2 = stablehlo.complex %0, %1 : tensor<4xcomplex<f32>>
  %3 = stablehlo.real %2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %4 = stablehlo.imag %2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %5 = stablehlo.convert %3 : tensor<4xf32>
  %6 = stablehlo.select %p, %5, %4 : tensor<i1>, tensor<4xf32>
  %7 = stablehlo.select %q, %6, %4 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = stablehlo.clamp %7, %6, %4 : tensor<4xf32>
  %9 = stablehlo.reduce_precision %8, format = e5m10 : tensor<4xf32>
  %10 = stablehlo.compare GE, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %11 = stablehlo.compare LT, %9, %8, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %12 = stablehlo.or %10, %11 {mhlo.frontend_attributes = {b = "2", a = "1"}} : tensor<4xi1>
  %13 = stablehlo.add %9, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %14 = stablehlo.select %12, %13, %8 : tensor<4xi1>, tensor<4xf32>
  %15 = stablehlo.is_finite %14 : (tensor<4xf32>) -> tensor<4xi1>
  %16 = stablehlo.convert %15 : (tensor<4xi1>) -> tensor<4xi32>
  %17 = stablehlo.bitcast_convert %14 : (tensor<4xf32>) -> tensor<4xi32>
  %18 = "stablehlo.clamp"(%p, %q, %p) : (tensor<i1>, tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  %19 = "stablehlo.select"(%18, %16, %17) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %14, %19 : tensor<4xf32>, tensor<4xi32>
}

// ---- constants
func.func @main() -> (tensor<2x2xi64>, tensor<12xi1>, tensor<2xcomplex<f32>>, tensor<0x2xf32>, tensor<3xi4>, tensor<2xf16>, tensor<f64>) {
  %0 = stablehlo.constant dense<[[1, -2], [0x7F, 3]]> : tensor<2x2xi64>
  %1 = stablehlo.constant dense<"0x010001000100010001010000"> : tensor<12xi1>
  %2 = stablehlo.constant dense<[(1.0, -2.5), (0x7FC00000, 0.0)]> : tensor<2xcomplex<f32>>
  %3 = stablehlo.constant dense<> : tensor<0x2xf32>
  %4 = stablehlo.constant dense<[7, -8, 1]> : tensor<3xi4>
  %5 = stablehlo.constant dense<"0x003C00BC"> : tensor<2xf16>
  %6 = stablehlo.constant {mhlo.frontend_attributes = {a = "1"}} dense<1.0e-300> : tensor<f64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x2xi64>, tensor<12xi1>, tensor<2xcomplex<f32>>, tensor<0x2xf32>, tensor<3xi4>, tensor<2xf16>, tensor<f64>
}

// ---- shape
module @shape {
  func.func public @main(%a: tensor<2x3xf32>, %z: tensor<f32>, %i: tensor<i32>) -> tensor<5x8xf32> attributes {note = "none"} {
    %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.pad %2, %z, low = [1, -1], high = [0, 3], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x8xf32>
    %4 = stablehlo.reverse %3, dims = [0, 1] : tensor<5x8xf32>
    %5 = stablehlo.slice %4 [0:5:2, 1:8] : (tensor<5x8xf32>) -> tensor<3x7xf32>
    %6 = stablehlo.concatenate %5, %5, dim = 1 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x14xf32>
    %7 = stablehlo.dynamic_slice %6, %i, %i, sizes = [2, 3] : (tensor<3x14xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %8 = stablehlo.dynamic_update_slice %4, %7, %i, %i : (tensor<5x8xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
    %9 = stablehlo.iota dim = 1 : tensor<5x8xf32>
    %10 = stablehlo.add %8, %9 : tensor<5x8xf32>
    return %10 : tensor<5x8xf32>
  }
}

// ---- dynamic
func.func @main(%a: tensor<2x3xf32>, %n: tensor<2xi64>, %m: tensor<2xi64>, %o: tensor<2xi64>, %z: tensor<f32>, %s: tensor<i32>) -> (tensor<2x3xf32>, tensor<i32>, tensor<2x3xf32>) {
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi64>) -> tensor<2x3xf32>
  %2 = stablehlo.dynamic_pad %0, %z, %n, %m, %o : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = stablehlo.dynamic_reshape %2, %n : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %4 = stablehlo.real_dynamic_slice %3, %n, %m, %o : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>
  %5 = stablehlo.get_dimension_size %4, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %6 = "stablehlo.dynamic_gather"(%4, %n, %m) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = true}> : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>
  return %6, %5, %1 : tensor<2x3xf32>, tensor<i32>, tensor<2x3xf32>
}

// ---- contraction
func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %v: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<f32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %2 = stablehlo.dot %v, %w, precision = [DEFAULT, HIGHEST] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return %0, %1, %2 : tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<f32>
}

// ---- convolution
func.func @main(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x2x6xf32>) -> tensor<1x4x8x6xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 1], [2, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x4x8x6xf32>
  return %0 : tensor<1x4x8x6xf32>
}

// ---- convolution_scalar
func.func @main(%x: tensor<2x3xf32>, %k: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// ---- linear_algebra
func.func @main(%a: tensor<3x3xf32>, %f: tensor<8xf32>) -> (tensor<3x3xf32>, tensor<8xf32>, tensor<3x3xf32>) {
  %0 = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
  %1 = stablehlo.fft %f, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
  %3 = "stablehlo.triangular_solve"(%0, %a) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0, %2, %3 : tensor<3x3xf32>, tensor<8xf32>, tensor<3x3xf32>
}

// ---- random
func.func @main(%a: tensor<f32>, %k: tensor<2xui64>) -> (tensor<2x3xf32>, tensor<2xui64>, tensor<4xui32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  %state, %bits = stablehlo.rng_bit_generator %k, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %0, %state, %bits : tensor<2x3xf32>, tensor<2xui64>, tensor<4xui32>
}

// ---- reductions
func.func @main(%a: tensor<4x6xf32>, %b: tensor<4x6xi32>, %z: tensor<f32>, %y: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<2x3xf32>, tensor<4x6xf32>) {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] {mhlo.frontend_attributes = {a = "1"}} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  %1:2 = stablehlo.reduce(%a init: %z), (%b init: %y) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%p: tensor<f32>, %r: tensor<f32>) (%q: tensor<i32>, %s: tensor<i32>)  {
    %5 = stablehlo.subtract %p, %r : tensor<f32>
    %6 = stablehlo.subtract %s, %q : tensor<i32>
    stablehlo.return %5, %6 : tensor<f32>, tensor<i32>
  }
  %3 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  %4 = "stablehlo.map"(%a, %a) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.multiply %p, %q : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0, %1#0, %1#1, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<2x3xf32>, tensor<4x6xf32>
}

// ---- control
func.func @main(%p: tensor<i1>, %i: tensor<i32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<10> : tensor<i32>
  %0:2 = stablehlo.while(%n = %i, %x = %a) : tensor<i32>, tensor<4xf32> attributes {mhlo.frontend_attributes = {a = "1"}}
  cond {
    %5 = stablehlo.compare LT, %n, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %5 : tensor<i1>
  } do {
    %5 = stablehlo.add %n, %n : tensor<i32>
    %6 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %5, %6 : tensor<i32>, tensor<4xf32>
  }
  %1 = "stablehlo.if"(%p) ({
    %5 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %5 : tensor<4xf32>
  }, {
    stablehlo.return %0#1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %2 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %3:2 = stablehlo.optimization_barrier %2, %0#0 : tensor<4xf32>, tensor<i32>
  %4 = call @twice(%3#0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3#0, %3#1, %4 : tensor<4xf32>, tensor<i32>, tensor<4xf32>
}
func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// ---- calls
#numbers = dense<[1, 2]> : tensor<2xi64>
!row = tensor<4xf32>
func.func @main(%a: !row {jax.arg_info = "a", mhlo.sharding = "{replicated}"} loc("a"), %b: tensor<4x4xf32>) -> (!row {jax.result_info = "[0]"}, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.custom_call @"a name"(%a) {api_version = 4 : i32, backend_config = {k = 3 : i64, numbers = #numbers}, has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @other(%b) {backend_config = "text", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.composite "my.op" %0 {composite_attributes = {n = 1 : i32, f = 2.0 : f32}, decomposition = @impl, version = 3 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.custom_call @nothing() : () -> tensor<4x4xf32>
  return %2, %1, %3 : tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32> loc("return"("f.py":3:4))
}
func.func private @impl(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}

// ---- tokens
func.func @main(%t: !stablehlo.token, %a: tensor<2xf32>) -> (!stablehlo.token, tensor<2xf32>) {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all %t, %0 : !stablehlo.token
  %2:2 = "stablehlo.infeed"(%1) <{infeed_config = "c", layout = [[0]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %3 = "stablehlo.outfeed"(%2#0, %2#1) <{outfeed_config = "o"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %4 = "stablehlo.send"(%a, %3) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %5:2 = "stablehlo.recv"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %5#1, %5#0 : !stablehlo.token, tensor<2xf32>
}

// ---- tuples
func.func @main(%a: tensor<2xf32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.tuple %a, %b : tuple<tensor<2xf32>, tensor<i32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  return %1 : tensor<i32>
}

// ---- batch_norm
func.func @main(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%a, %s, %o) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %1 = "stablehlo.batch_norm_inference"(%0#0, %s, %o, %0#1, %0#2) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2:3 = "stablehlo.batch_norm_grad"(%a, %s, %0#1, %0#2, %1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %1, %2#0 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// ---- indexing
func.func @main(%a: tensor<4x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x6xf32>, %z: tensor<f32>) -> (tensor<3x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  %1 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  %2 = "stablehlo.select_and_scatter"(%a, %a, %z) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %5 : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %3 = "stablehlo.sort"(%a) <{is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %5 : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0, %1, %2, %3 : tensor<3x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// ---- old
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %i: tensor<2xi32>) -> (tensor<5x2x3xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2x2xf32>) {
  %0 = stablehlo.broadcast %a, sizes = [5] : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
  %1 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<2x3xf32>) -> tensor<2xf32>
  %3 = "stablehlo.torch_index_select"(%a, %i) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %0, %1, %2, %3 : tensor<5x2x3xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2x2xf32>
}

// ---- old_generic
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // Attributes of the op among the others, as before there were properties.
  %0 = "stablehlo.transpose"(%a) {mhlo.frontend_attributes = {a = "1"}, permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  "func.return"(%0) : (tensor<3x2xf32>) -> ()
}

// ---- collectives
func.func @main(%a: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<ui32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %5 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.partition_id : tensor<ui32>
  %3 = stablehlo.replica_id : tensor<ui32>
  return %1, %2, %3 : tensor<8x4xf32>, tensor<ui32>, tensor<ui32>
}

// ---- shardy
module @sharded attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  sdy.mesh @reordered = <["x"=4], device_ids=[3, 2, 1, 0]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y"}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}], replicated={"y"}>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {?}]> : tensor<8x4xf32>
    %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<8x4xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<4x4xf32>) {
      %3 = stablehlo.add %arg1, %arg1 : tensor<4x4xf32>
      sdy.return %3 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
