// LlvmMc: LLVM's assembler and disassembler as an oracle, thousands of instructions a process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace doppel::oracle {

using Words = std::vector<uint32_t>;

struct Disassembled {
  std::string text;
  Words canonical;  // encoded again; shorter where a literal could have been an inline constant
};

class LlvmMc {
 public:
  /// `cpu`: "gfx1100". Wave64 code wants `wave_size` 64.
  explicit LlvmMc(std::string cpu, uint32_t wave_size = 32)
      : cpu_(std::move(cpu)), wave_size_(wave_size) {}

  /// Each line's encoding, or nullopt where the line is no instruction of the target. A line must
  /// hold one instruction.
  std::vector<std::optional<Words>> assemble(const std::vector<std::string>& lines) const;

  /// The instruction each candidate begins with, or nullopt where there is none.
  std::vector<std::optional<Disassembled>> disassemble(std::span<const Words> candidates) const;

  /// The machine code of a whole program, labels allowed. Throws with llvm-mc's messages if it does
  /// not assemble: a test's own source is wrong then.
  Words assemble_program(const std::string& source) const;

 private:
  struct Output {
    std::string out;
    std::string messages;
  };
  std::vector<std::optional<Disassembled>> disassemble_at_once(
      std::span<const Words> candidates) const;
  Output run(const std::string& options, const std::string& input) const;

  std::string cpu_;
  uint32_t wave_size_;
};

}  // namespace doppel::oracle
