// The support matrix (docs/isa-support.md): every instruction row, the families that have it, and
// how sure its semantics are.
#pragma once

#include <string>

namespace doppel::isa {

/// The whole document, Markdown.
std::string support_matrix();

}  // namespace doppel::isa
