#!/bin/sh
# isa_symbols_test.sh NM LIBRARY: no object compiled for an instruction set defines a weak symbol outside of its own
# namespace. Such a symbol (an instance of a std template, say) would be code for that instruction set that the linker
# may choose for the whole program, and the program would crash on a CPU without it.
set -eu
nm=$1
library=$2
found=$("$nm" -A -C --defined-only "$library" |
  grep -E '(avx2|avx512|neon)\.cc\.o:' |
  grep -E ' [VWu] ' |
  grep -vE 'reference::kernels::(avx2|avx512|neon)::' || true)
if [ -n "$found" ]; then
  echo "weak symbols outside of the ISA's namespace; use a builtin or a function of our own instead:"
  echo "$found"
  exit 1
fi
objects=$("$nm" -A "$library" 2>/dev/null | grep -cE '(avx2|neon)\.cc\.o:.*kTable' || true)
if [ "$objects" -eq 0 ]; then
  echo "$library holds no ISA object with a kernel table; does the name pattern of this test still fit?"
  exit 1
fi
