// Any bytes as each of the small things that users and machines write: the first byte says which.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/kfd/topology.h"
#include "backends/mock/device_profile.h"
#include "backends/mock/persona.h"
#include "core/assert.h"
#include "core/verify/suppression.h"
#include "tools/exec/arg_spec.h"
#include "tools/vectors/isa_case.h"

namespace {

using namespace doppel;

void read_persona(std::string_view text) {
  auto persona = mock::parse_persona(text);
  if (!persona) return;
  DOPPEL_ASSERT(mock::parse_persona(mock::to_json(*persona)).has_value(),
                "a persona does not come back");
  (void)mock::emulate(std::move(*persona));
}

/// Arguments and machines may name files, which are other parsers' inputs, and buffers of
/// gigabytes, which are as valid as small ones.
bool is_modest(std::string_view text) {
  return text.find("file") == text.npos && text.find("iB") == text.npos && text.size() <= 32 &&
         text.find_first_of("89abcdefABCDEF") == text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 1 << 16) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'a':
      if (is_modest(text)) (void)exec::parse_arg(text);
      break;
    case 'i':
      (void)exec::parse_integer(text);
      break;
    case 'm':
      if (text.find("file") == text.npos) (void)mock::parse_machine(text);
      break;
    case 'p':
      (void)kfd::Properties::parse(text, "properties");
      break;
    case 's':
      (void)verify::Suppressions::parse(text);
      break;
    case 'v':
      (void)vectors::parse_isa_cases(std::as_bytes(std::span(text)));
      break;
    case '{':
      read_persona({reinterpret_cast<const char*>(data), size});
      break;
    default:
      break;
  }
  return 0;
}
