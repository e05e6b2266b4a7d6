// Kernels whose metadata the code object tests know: every kind of explicit argument, hidden
// arguments, static and dynamic LDS, scratch, and a global variable that needs relocation.
typedef struct {
  int low;
  long high;
} Pair;

constant int table[4] = {3, 1, 4, 1};
constant int* constant indirect = &table[2];

kernel void mixed(global float* out, global const float* in, Pair pair, int count,
                  local float* staging) {
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
          __builtin_amdgcn_workitem_id_x();
  if (i < count) out[i] = in[i] + pair.low;
  staging[i & 15] = out[0];
  out[1] = staging[0];
}

kernel __attribute__((reqd_work_group_size(64, 2, 1))) void fixed_size(global int* out, int index) {
  int spilled[40];
  for (int i = 0; i < 40; ++i) spilled[i] = out[i];
  out[0] = spilled[index] + spilled[index + 1] + table[index & 3] + *indirect;
}
