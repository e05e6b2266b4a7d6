// Program: a code object loaded into a device's memory, shared by its handles and by the work in
// flight that runs it: dropping the last handle while a kernel runs is safe, the memory goes when
// the queue has retired the work. Kernel: one entry point of a Program, and a share of it.
//
// Immutable once loaded; safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/code_object.h"
#include "core/memory.h"
#include "core/status.h"

namespace doppel {

struct ProgramState {
  CodeObject object;
  Allocation image;
};

class Kernel {
 public:
  Kernel(std::shared_ptr<const ProgramState> program, const KernelInfo* info)
      : program_(std::move(program)), info_(info) {}

  const KernelInfo& info() const { return *info_; }
  std::string_view name() const { return info_->name; }
  const Target& target() const { return program_->object.target(); }
  Device* owner() const { return program_->image.owner(); }

  /// GPU addresses of the kernel descriptor (AQL's kernel_object) and of the first instruction.
  uint64_t descriptor_address() const {
    return program_->image.gpu_address() + info_->descriptor_offset;
  }
  uint64_t entry_address() const { return program_->image.gpu_address() + info_->entry_offset; }

  const std::shared_ptr<const ProgramState>& program() const { return program_; }

 private:
  std::shared_ptr<const ProgramState> program_;
  const KernelInfo* info_;
};

class Program {
 public:
  explicit Program(std::shared_ptr<const ProgramState> state) : state_(std::move(state)) {}

  /// NotFound, naming the kernels there are. Commands take the Result as it is: the error comes out
  /// of submit().
  Result<Kernel> kernel(std::string_view name) const;

  const CodeObject& object() const { return state_->object; }
  const Allocation& image() const { return state_->image; }

 private:
  std::shared_ptr<const ProgramState> state_;
};

}  // namespace doppel
