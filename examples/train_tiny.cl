// The kernels of train_tiny: a perceptron with one hidden layer, its gradients and their descent.
// Fused multiply-adds are explicit and sums have one order, so that the CPU can repeat every
// operation bit for bit.
#include "train_tiny_shape.h"

#define KERNEL __kernel __attribute__((reqd_work_group_size(64, 1, 1)))

static inline uint global_id(void) {
  return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
}

// hidden[sample][unit] = max(0, the unit's weights times the sample's inputs)
KERNEL void forward_hidden(__global const float *inputs, __global const float *weights,
                           __global float *hidden) {
  uint i = global_id(), sample = i / kHidden, unit = i % kHidden;
  if (sample >= kBatch) return;
  float sum = weights[kInputs * kHidden + unit];
  for (uint k = 0; k < kInputs; ++k)
    sum = __builtin_fmaf(inputs[sample * kInputs + k], weights[k * kHidden + unit], sum);
  hidden[i] = sum > 0.0f ? sum : 0.0f;
}

// error[sample] = the output minus the target
KERNEL void forward_output(__global const float *hidden, __global const float *weights,
                           __global const float *targets, __global float *error) {
  uint sample = global_id();
  if (sample >= kBatch) return;
  float sum = weights[kHidden];
  for (uint unit = 0; unit < kHidden; ++unit)
    sum = __builtin_fmaf(hidden[sample * kHidden + unit], weights[unit], sum);
  error[sample] = sum - targets[sample];
}

// loss[0] = the mean of the squares, summed as a tree in LDS
KERNEL void mean_square(__global const float *error, __global float *loss) {
  __local float tile[kBatch];
  uint lane = __builtin_amdgcn_workitem_id_x();
  tile[lane] = error[lane] * error[lane];
  for (uint step = kBatch / 2; step > 0; step /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (lane < step) tile[lane] += tile[lane + step];
  }
  if (lane == 0) loss[0] = tile[0] * (1.0f / kBatch);
}

// delta[sample][unit]: how the error depends on the unit's sum
KERNEL void backward_hidden(__global const float *error, __global const float *hidden,
                            __global const float *output_weights, __global float *delta) {
  uint i = global_id(), sample = i / kHidden, unit = i % kHidden;
  if (sample >= kBatch) return;
  delta[i] = hidden[i] > 0.0f ? error[sample] * output_weights[unit] : 0.0f;
}

// weights -= rate * gradient, of the output
KERNEL void descend_output(__global const float *error, __global const float *hidden,
                           __global float *weights, float rate) {
  uint unit = global_id();
  if (unit > kHidden) return;
  float gradient = 0.0f;
  for (uint sample = 0; sample < kBatch; ++sample)
    gradient = __builtin_fmaf(
        error[sample], unit < kHidden ? hidden[sample * kHidden + unit] : 1.0f, gradient);
  weights[unit] = __builtin_fmaf(-rate, gradient, weights[unit]);
}

// weights -= rate * gradient, of the hidden layer
KERNEL void descend_hidden(__global const float *delta, __global const float *inputs,
                           __global float *weights, float rate) {
  uint i = global_id(), input = i / kHidden, unit = i % kHidden;
  if (input > kInputs) return;
  float gradient = 0.0f;
  for (uint sample = 0; sample < kBatch; ++sample)
    gradient = __builtin_fmaf(delta[sample * kHidden + unit],
                              input < kInputs ? inputs[sample * kInputs + input] : 1.0f, gradient);
  weights[i] = __builtin_fmaf(-rate, gradient, weights[i]);
}
