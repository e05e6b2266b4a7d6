// Machine: code and memory for tests that run instructions: an address space with an executable
// page for code and a page for data, and a Dispatcher to run them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

inline constexpr uint32_t kEndpgm = 0xbfb00000;  // s_endpgm of gfx11

class Machine {
 public:
  static constexpr uint64_t kCode = 0x10000;
  static constexpr uint64_t kData = 0x100000;
  static constexpr size_t kCodeBytes = 0x4000;

  explicit Machine(size_t data_bytes = 0x10000, DispatcherOptions options = {})
      : data_(data_bytes), dispatcher_(clock_, options) {
    map(kCode, code_.data(), code_.size(), Access::Execute);
    map(kData, data_.data(), data_.size(), Access::ReadWrite);
    dispatch.target = find_target("gfx1100").value();
    dispatch.vm = &vm_;
    dispatch.program = kCode;
    dispatch.grid = {1, 1, 1};
    dispatch.workgroup = {32, 1, 1};
    // 256 VGPRs, round to nearest even, denormals kept, DX10_CLAMP, IEEE; 2 user SGPRs.
    dispatch.rsrc1 = 0x00af003f;
    dispatch.rsrc2 = 2 << 1;
  }

  void load(std::initializer_list<uint32_t> words) {
    std::memcpy(code_.data(), std::data(words), words.size() * 4);
  }
  void load(const std::vector<uint32_t>& words) {
    std::memcpy(code_.data(), words.data(), words.size() * 4);
  }
  template <class T>
  T* data(size_t byte_offset = 0) {
    return reinterpret_cast<T*>(data_.data() + byte_offset);
  }
  DispatchState run() {
    if (auto started = dispatcher_.start(dispatch); !started) {
      ADD_FAILURE() << started.error().to_string();
      return DispatchState::Faulted;
    }
    DispatchState state;
    do {
      state = dispatcher_.step(1'000'000);
    } while (state == DispatchState::Running);
    return state;
  }
  Dispatcher& dispatcher() { return dispatcher_; }
  GpuVm& vm() { return vm_; }

  Dispatch dispatch;

 private:
  void map(uint64_t va, std::byte* host, size_t size, Access access) {
    const auto mapped =
        vm_.map({.va = va,
                 .size = size,
                 .host = host,
                 .permissions = static_cast<uint8_t>(static_cast<uint8_t>(access) |
                                                     static_cast<uint8_t>(Access::Read))});
    EXPECT_TRUE(mapped.has_value());
  }

  VirtualClock clock_;
  GpuVm vm_;
  std::vector<std::byte> code_ = std::vector<std::byte>(kCodeBytes);
  std::vector<std::byte> data_;
  Dispatcher dispatcher_;
};

}  // namespace doppel::emu
