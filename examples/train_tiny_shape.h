// The model of train_tiny, for its kernels (OpenCL C) and for the program alike.
#pragma once

enum {
  kInputs = 2,
  kHidden = 32,
  kBatch = 64,
  kHiddenWeights = (kInputs + 1) * kHidden,  // by input, the bias last: [input][unit]
  kOutputWeights = kHidden + 1,              // by unit, the bias last
};
