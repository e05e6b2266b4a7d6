#include "core/verify/verify.h"

#include <fmt/format.h>

namespace doppel {

Result<Verify> Verify::parse(std::string_view checks) {
  Verify verify;
  while (true) {
    const std::string_view name = checks.substr(0, checks.find(','));
    if (name == "all") {
      verify = all();
    } else if (name == "hazards") {
      verify.hazards = true;
    } else if (name == "coherence") {
      verify.coherence = true;
    } else if (name == "progress") {
      verify.progress = true;
    } else if (name == "lifetime") {
      verify.lifetime = true;
    } else if (name == "lint") {
      verify.lint = true;
    } else {
      return error(
          StatusCode::InvalidArgument,
          fmt::format("There is no such check ({}); there are hazards, coherence, progress, "
                      "lifetime, lint and all.",
                      name));
    }
    if (name.size() == checks.size()) return verify;
    checks.remove_prefix(name.size() + 1);
  }
}

}  // namespace doppel
