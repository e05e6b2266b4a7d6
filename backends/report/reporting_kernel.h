// ReportingKernel: a decorator that tells a RunRecorder what a client asks its driver for.
#pragma once

#include <memory>

#include "backends/kfd/forwarding_kernel.h"
#include "backends/report/run_recorder.h"

namespace doppel::report {

/// kernel.ioctl(), told to the recorder.
int reported_ioctl(kfd::KernelAbi& kernel, RunRecorder& recorder, int fd, unsigned long request,
                   void* argument);

class ReportingKernel final : public kfd::ForwardingKernel {
 public:
  /// `recorder` outlives the kernel, and has its clock.
  ReportingKernel(std::shared_ptr<kfd::KernelAbi> kernel, RunRecorder& recorder)
      : ForwardingKernel(std::move(kernel)), recorder_(recorder) {}

  int ioctl(int fd, unsigned long request, void* argument) override {
    return reported_ioctl(inner(), recorder_, fd, request, argument);
  }

 private:
  RunRecorder& recorder_;
};

}  // namespace doppel::report
