// An OpenCL client: compiles a kernel from source at run time, adds two vectors, checks every
// element. Exit status 0 if all are right.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>

constexpr int kCount = 10000;

#define CHECK(status, what)                           \
  do {                                                \
    if ((status) != CL_SUCCESS) {                     \
      std::printf("%s: status %d\n", what, (status)); \
      std::exit(1);                                   \
    }                                                 \
  } while (0)

const char* const kSource =
    "kernel void add(global const float* a, global const float* b, global float* c) {\n"
    "  size_t i = get_global_id(0);\n"
    "  c[i] = a[i] + b[i];\n"
    "}\n";

float a[kCount], b[kCount], c[kCount];

int main() {
  for (int i = 0; i < kCount; ++i) {
    a[i] = (float)i;
    b[i] = (float)(2 * i);
  }
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  CHECK(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr), "clGetDeviceIDs");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  CHECK(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  CHECK(status, "clCreateCommandQueue");
  cl_program program =
      clCreateProgramWithSource(context, 1, const_cast<const char**>(&kSource), nullptr, &status);
  CHECK(status, "clCreateProgramWithSource");
  CHECK(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "add", &status);
  CHECK(status, "clCreateKernel");
  cl_mem_flags copy = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
  cl_mem x = clCreateBuffer(context, copy, sizeof a, a, &status);
  cl_mem y = clCreateBuffer(context, copy, sizeof b, b, &status);
  cl_mem z = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof c, nullptr, &status);
  CHECK(status, "clCreateBuffer");
  CHECK(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
  CHECK(clSetKernelArg(kernel, 1, sizeof y, &y), "clSetKernelArg");
  CHECK(clSetKernelArg(kernel, 2, sizeof z, &z), "clSetKernelArg");
  size_t size = kCount;
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr),
        "launch");
  CHECK(clEnqueueReadBuffer(queue, z, CL_TRUE, 0, sizeof c, c, 0, nullptr, nullptr), "read");
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += c[i] != (float)(3 * i);
  std::printf("wrong values: %d\n", wrong);
  return wrong != 0;
}
