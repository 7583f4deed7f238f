// Runs programs on arrays from a file: `run INPUT OUTPUT`.
// INPUT holds jobs: program, backwards, then for each array its size in bytes and its bytes.
// OUTPUT gets the arrays of each job as they are afterwards. A job that fails ends the process.
#include "cuda_on_cpu.h"

#include <cstdio>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

Place blockIdx, threadIdx;
extern char __start_block_shared[] __attribute__((weak));
extern char __stop_block_shared[] __attribute__((weak));

namespace {

const size_t PAGE = 4096, STACK = 1 << 18;
const unsigned char UNWRITTEN = 0xff;  // NaN as a float, -1 as an integer

struct Fiber {
  ucontext_t context;
  char* stack;
  Place place;
  bool done, waiting;
};
ucontext_t scheduler;
std::vector<Fiber> fibers;
Fiber* current;
const Launch* launched;
void** launched_arrays;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "block (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y, blockIdx.z, what);
  exit(3);
}

void thread_body() {
  launched->call(launched_arrays);
  current->done = true;
  swapcontext(&current->context, &scheduler);
}

Place place_of(unsigned thread, const unsigned (&block)[3]) {
  return {thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]};
}

// The threads run one after the other, each as far as its next barrier, until all are done.
void run_with_barriers(const Launch& launch, unsigned threads, bool backwards) {
  while (fibers.size() < threads) {
    void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) fail("no memory for the threads' stacks");
    fibers.push_back({});
    fibers.back().stack = (char*)stack;
  }
  for (unsigned t = 0; t < threads; t++) {
    Fiber& fiber = fibers[t];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = &scheduler;
    fiber.place = place_of(t, launch.block);
    fiber.done = false;
    makecontext(&fiber.context, thread_body, 0);
  }
  for (;;) {
    unsigned done = 0, waiting = 0;
    for (unsigned k = 0; k < threads; k++) {
      current = &fibers[backwards ? threads - 1 - k : k];
      current->waiting = false;
      if (!current->done) {
        threadIdx = current->place;
        swapcontext(&scheduler, &current->context);
      }
      done += current->done;
      waiting += current->waiting;
    }
    if (done == threads) return;
    if (done) fail("some threads wait at a barrier, others are done");
  }
}

void run_block(const Launch& launch, bool backwards) {
  if (__start_block_shared)
    memset(__start_block_shared, UNWRITTEN, __stop_block_shared - __start_block_shared);
  unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (launch.barriers) return run_with_barriers(launch, threads, backwards);
  for (unsigned k = 0; k < threads; k++) {
    threadIdx = place_of(backwards ? threads - 1 - k : k, launch.block);
    launch.call(launched_arrays);
  }
}

void run(const Launch& launch, void** arrays, bool backwards) {
  launched = &launch;
  launched_arrays = arrays;
  unsigned blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  for (unsigned k = 0; k < blocks; k++) {
    blockIdx = place_of(backwards ? blocks - 1 - k : k, launch.grid);
    run_block(launch, backwards);
  }
}

// An array that ends, up to its alignment, where a page begins that nobody may touch.
struct Array {
  char *pages, *data;
  size_t bytes, mapped;

  explicit Array(size_t bytes) : bytes(bytes) {
    size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    mapped = room + 2 * PAGE;
    pages = (char*)mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) fail("no memory for an array");
    mprotect(pages, PAGE, PROT_NONE);
    mprotect(pages + PAGE + room, PAGE, PROT_NONE);
    data = pages + PAGE + (room - bytes) / 16 * 16;
  }
  ~Array() { munmap(pages, mapped); }
  Array(const Array&) = delete;
};

template <typename T> bool get(FILE* in, T* value, size_t count = 1) {
  return fread(value, sizeof(T), count, in) == count;
}

}  // namespace

void __syncthreads() {
  current->waiting = true;
  swapcontext(&current->context, &scheduler);
  threadIdx = current->place;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  if (!in || !out) return 2;
  int64_t header[2];  // program, backwards
  for (int job = 0; get(in, header, 2); job++) {
    fprintf(stderr, "job %d\n", job);
    const Program& program = programs[header[0]];
    std::vector<Array*> arrays;
    std::vector<void*> data;
    for (int k = 0; k < program.arrays; k++) {
      int64_t bytes;
      if (!get(in, &bytes)) return 2;
      arrays.push_back(new Array(bytes));
      if (!get(in, arrays.back()->data, bytes)) return 2;
      data.push_back(arrays.back()->data);
    }
    for (int k = 0; k < program.launches; k++) run(program.launch[k], data.data(), header[1]);
    for (Array* array : arrays) {
      fwrite(array->data, 1, array->bytes, out);
      delete array;
    }
  }
  return fclose(out) ? 2 : 0;
}
