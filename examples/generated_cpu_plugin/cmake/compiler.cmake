# What the compiler must be, and the flags of every target.

set(_how "Debian or Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install. \
Another compiler is chosen with CXX=/path/to/c++ and an empty build folder.")
set(_oldest_GNU 12)
set(_oldest_Clang 14)
set(_oldest_AppleClang 15)
if(NOT DEFINED _oldest_${CMAKE_CXX_COMPILER_ID})
  message(WARNING "${CMAKE_CXX_COMPILER_ID} is not among the compilers that were tried: GCC 12 or \
newer, Clang 14 or newer. ${_how}")
elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS _oldest_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR "The C++ compiler is too old: ${CMAKE_CXX_COMPILER} is \
${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; this project needs C++20, that is \
${CMAKE_CXX_COMPILER_ID} ${_oldest_${CMAKE_CXX_COMPILER_ID}} or newer. ${_how}")
endif()

if(PJRT_PLUGIN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(PJRT_PLUGIN_CCACHE_PROGRAM ccache)
  if(PJRT_PLUGIN_CCACHE_PROGRAM)
    # It is tried: a ccache that cannot write its folder, in a sandbox for example, ends every compilation.
    file(WRITE "${PROJECT_BINARY_DIR}/ccache_works.cc" "int works;\n")
    execute_process(
      COMMAND "${PJRT_PLUGIN_CCACHE_PROGRAM}" "${CMAKE_CXX_COMPILER}" -c ccache_works.cc -o ccache_works.o
      WORKING_DIRECTORY "${PROJECT_BINARY_DIR}" RESULT_VARIABLE _ccache_failed OUTPUT_QUIET ERROR_QUIET)
    if(_ccache_failed)
      message(STATUS "${PJRT_PLUGIN_CCACHE_PROGRAM} does not work here, so compiling goes without it")
    else()
      message(STATUS "${PJRT_PLUGIN_CCACHE_PROGRAM} keeps what is compiled")
      set(CMAKE_CXX_COMPILER_LAUNCHER "${PJRT_PLUGIN_CCACHE_PROGRAM}")
    endif()
  endif()
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The plugin shares a process with jaxlib, TensorFlow and others: nothing but GetPjrtApi may leave it.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# No path of the build machine may reach a user's machine; vendor libraries beside the plugin are found.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
# Not -O3: it buys nothing here and costs compile time. No link-time optimisation and no flags for one
# instruction set: kernels choose theirs at run time, and must not leak it into the rest.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(pjrt_flags INTERFACE)
target_compile_options(pjrt_flags INTERFACE -Wall -Wextra)
# GCC 12's std::stable_sort uses what the standard has deprecated, and newer Clangs blame whoever calls it.
target_compile_options(pjrt_flags INTERFACE
                       $<$<AND:$<CXX_COMPILER_ID:Clang>,$<PLATFORM_ID:Linux>>:-Wno-deprecated-declarations>)
# Built again in another folder, what users get is the same byte for byte. Debuggers still find the sources of other builds.
target_compile_options(pjrt_flags INTERFACE
                       "$<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>"
                       "$<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_BINARY_DIR}=build>")
target_compile_definitions(pjrt_flags INTERFACE PJRT_PLUGIN_VERSION="${PJRT_PLUGIN_VERSION}")
if(PJRT_PLUGIN_WERROR)
  target_compile_options(pjrt_flags INTERFACE -Werror)
endif()
if(PJRT_PLUGIN_SANITIZE)
  string(REPLACE ";" "," _sanitizers "${PJRT_PLUGIN_SANITIZE}")
  target_compile_options(pjrt_flags INTERFACE -fsanitize=${_sanitizers} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(pjrt_flags INTERFACE -fsanitize=${_sanitizers})
endif()
find_package(Threads REQUIRED)
target_link_libraries(pjrt_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
