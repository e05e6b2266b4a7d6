// The files of page/, as they were when this was built.
#pragma once

#include <string_view>

namespace doppel::report {

extern const std::string_view kPage;  // with @STYLE@, @RUN@ and @SCRIPT@
extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace doppel::report
