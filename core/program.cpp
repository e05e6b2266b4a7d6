#include "core/program.h"

namespace doppel {

Result<Kernel> Program::kernel(std::string_view name) const {
  DOPPEL_ASSIGN(const KernelInfo* info, state_->object.find_kernel(name));
  return Kernel(state_, info);
}

}  // namespace doppel
