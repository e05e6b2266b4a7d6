#include "backends/report/reporting_kernel.h"

#include <fmt/format.h>

#include "backends/mock/ioctl_names.h"

namespace doppel::report {

int reported_ioctl(kfd::KernelAbi& kernel, RunRecorder& recorder, int fd, unsigned long request,
                   void* argument) {
  const uint64_t begin = kernel.now_ns();
  const int result = kernel.ioctl(fd, request, argument);
  recorder.host_call(std::string(mock::ioctl_name(request)), fmt::format("returns {}", result),
                     begin, kernel.now_ns());
  return result;
}

}  // namespace doppel::report
