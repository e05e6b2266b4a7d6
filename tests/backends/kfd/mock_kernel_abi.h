// MockKernelAbi: a GoogleMock double of the seam, for the paths that a healthy driver never takes.
#pragma once

#include <gmock/gmock.h>

#include "backends/kfd/kernel_abi.h"

namespace doppel::kfd {

class MockKernelAbi : public KernelAbi {
 public:
  MOCK_METHOD(uint64_t, now_ns, (), (const, override));
  MOCK_METHOD(int, open, (const char*, int), (override));
  MOCK_METHOD(int, close, (int), (override));
  MOCK_METHOD(int, ioctl, (int, unsigned long, void*), (override));
  MOCK_METHOD(void*, mmap, (void*, size_t, int, int, int, uint64_t, int*), (override));
  MOCK_METHOD(int, munmap, (void*, size_t), (override));
  MOCK_METHOD(Result<std::string>, read_file, (const std::string&), (override));
  MOCK_METHOD(Result<std::vector<std::string>>, list_dir, (const std::string&), (override));
  MOCK_METHOD(Result<RenderNodeInfo>, render_node_info, (int), (override));
  MOCK_METHOD(Relax, relax, (), (override));
  MOCK_METHOD(std::string, stall_report, (), (override));
  MOCK_METHOD(std::string, fault_report, (), (override));
};

}  // namespace doppel::kfd
