// What the selftest launches: integers only, so that every target gives the same bits. 64
// work-items a workgroup.
__attribute__((reqd_work_group_size(64, 1, 1))) __kernel void scale_add(__global uint* out,
                                                                        __global const uint* in,
                                                                        uint scale, uint bias) {
  const uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  out[i] = in[i] * scale + bias;
}
