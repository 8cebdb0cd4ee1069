"""A plugin and a client in C, of a few lines each, that the tests trace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pjrt_scaffold.registry.load import load
from pjrt_scaffold.trace import interposer

REGISTRY = load()
KNOWN = len(REGISTRY.at(REGISTRY.minors[-1]).functions)

# Each function adds one to the number that it is given; function 3 fails, 4 kills its process.
PLUGIN = """
#include <signal.h>
#include <stddef.h>
static void* Answer(void* args) {
  __atomic_add_fetch((int*)args, 1, __ATOMIC_RELAXED);
  return NULL;
}
static void* Fail(void* args) { Answer(args); return args; }
static void* Die(void* args) { Answer(args); raise(SIGKILL); return NULL; }
static struct { size_t size; void* x; size_t vsize; void* vx; int major, minor;
                void* (*slots[SLOTS])(void*); } api;
const void* GetPjrtApi(void);
const void* GetPjrtApi(void) {
  api.size = sizeof api; api.minor = MINOR;
  for (int i = 0; i < SLOTS; ++i) {
    api.slots[i] = i == 5 ? NULL : i == 4 ? Die : i == 3 ? Fail : Answer;
  }
  return &api;
}
"""

# What a client does is said word by word: load a plugin, call some of its functions, fork, ...
CLIENT = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
typedef struct { size_t size; void* x; size_t vsize; void* vx; int major, minor;
                 void* (*slots[])(void*); } Api;
static const Api* api;
static int number, expected;
static void Call(int slot, int times) {
  for (int i = 0; i < times; ++i) api->slots[slot](&number);
}
static void* Thousand(void* nothing) { Call(2, 1000); return nothing; }
static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
/* The best of many batches, so that what else the machine does counts little. */
static double PerCall(void) {
  double best = 1e9;
  for (int batch = 0; batch < 200; ++batch) {
    double start = Now();
    Call(2, 1000);
    double took = (Now() - start) / 1000;
    if (took < best) best = took;
  }
  return best;
}
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const char* word = words[i];
    if (strchr(word, '/') != NULL) {
      void* library = dlopen(word, RTLD_NOW | RTLD_LOCAL);
      if (library == NULL) { puts(dlerror()); return 9; }
      const void* (*get)(void) = (const void* (*)(void))dlsym(library, "GetPjrtApi");
      if (get == NULL || get != (const void* (*)(void))dlsym(library, "GetPjrtApi")) return 8;
      api = get();
      if (api != get() || api->slots[5] != NULL) return 7;
    } else if (strcmp(word, "last") == 0) {
      Call((int)((api->size - 40) / 8) - 1, 1);
      ++expected;
    } else if (strcmp(word, "fork") == 0) {
      if (fork() == 0) { Call(2, 5); _exit(0); }
      wait(NULL);
    } else if (strcmp(word, "threads") == 0) {
      pthread_t threads[4];
      for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, Thousand, NULL);
      for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
      expected += 4000;
    } else if (strcmp(word, "measure") == 0) {
      printf("%f\\n", PerCall());
      return 0;
    } else if (strncmp(word, "exit", 4) == 0) {
      return atoi(word + 4);
    } else {
      int slot, times;
      if (sscanf(word, "%dx%d", &slot, &times) != 2) return 6;
      Call(slot, times);
      expected += times;
    }
  }
  return number == expected ? 0 : 5;
}
"""

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def c(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile a C text with options."""

    def compiled(text: str, name: str, *options: str) -> Path:
        folder = tmp_path_factory.mktemp("c")
        code = folder / "code.c"
        code.write_text(text)
        command = ["cc", "-O1", str(code), "-o", str(folder / name), *options, "-ldl", "-lpthread"]
        subprocess.run(command, check=True)
        return folder / name

    return compiled


@pytest.fixture(scope="session")
def plugin(c: Compile) -> Callable[..., Path]:
    """Make a plugin; `extra` functions beyond the registry's newest table, or fewer."""

    def made(extra: int = 0, name: str = "plugin.so") -> Path:
        minor = REGISTRY.minors[-1] + (1 if extra > 0 else 0)
        return c(PLUGIN, name, "-shared", "-fPIC", f"-DSLOTS={KNOWN + extra}", f"-DMINOR={minor}")

    return made


@pytest.fixture(scope="session")
def client(c: Compile) -> Path:
    return c(CLIENT, "client")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is kept that traces: compiled once for these tests."""
    folder = tmp_path_factory.mktemp("cache")
    interposer.build(REGISTRY, folder / "pjrt-scaffold")
    return folder
