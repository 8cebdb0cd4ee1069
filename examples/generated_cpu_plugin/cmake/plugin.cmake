# The helpers with which every folder of csrc describes itself.

# pjrt_plugin_library(<name> [UNITY] [WHOLE] [SOURCES <file>...] [DEPS <name>...] [LIBRARIES <library>...])
#
# A static library pjrt_<name> (an interface library when there are no sources). DEPS are folders' libraries, named
# without the prefix; LIBRARIES are anything that target_link_libraries takes. UNITY compiles
# several sources as one, so that headers are read and templates instantiated once for all of them: it halves the build.
# It asks that a name stands in an unnamed namespace of one source only; every file still includes what it uses, as
# builds with PJRT_PLUGIN_UNITY=OFF show. WHOLE links every object of it, asked for or not: for what one of its own
# DEPS calls.
function(pjrt_plugin_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNITY;WHOLE" "" "SOURCES;DEPS;LIBRARIES")
  _pjrt_refuse_unknown(pjrt_plugin_library ${name} "${arg_UNPARSED_ARGUMENTS}")
  list(TRANSFORM arg_DEPS PREPEND pjrt_)
  set(type STATIC)
  if(arg_WHOLE)
    set(type OBJECT)
  endif()
  if(arg_SOURCES)
    add_library(pjrt_${name} ${type} ${arg_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(pjrt_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(pjrt_${name} ${scope} "${PROJECT_SOURCE_DIR}/csrc")
  target_link_libraries(pjrt_${name} ${scope} pjrt_flags ${arg_DEPS} ${arg_LIBRARIES})
  if(arg_UNITY AND PJRT_PLUGIN_UNITY)
    set_target_properties(pjrt_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# pjrt_plugin_test(<name> SOURCES <file>... [DEPS <name>...] [LIBRARIES <library>...] [DEFINES <macro>...])
#
# A test program on GoogleTest, run by ctest; nothing unless PJRT_PLUGIN_BUILD_TESTS is on. GoogleTest's header is
# compiled once, with the first test, and read by the others.
function(pjrt_plugin_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LIBRARIES;DEFINES")
  _pjrt_refuse_unknown(pjrt_plugin_test ${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT PJRT_PLUGIN_BUILD_TESTS)
    return()
  endif()
  list(TRANSFORM arg_DEPS PREPEND pjrt_)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/csrc")
  target_link_libraries(${name} PRIVATE pjrt_flags ${arg_DEPS} ${arg_LIBRARIES} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  target_compile_options(${name} PRIVATE -Wno-dangling-else)  # `if (x) EXPECT_EQ(...);` is what it says
  get_property(first GLOBAL PROPERTY _pjrt_first_test)
  if(NOT first)
    set_property(GLOBAL PROPERTY _pjrt_first_test ${name})
    target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/csrc/testing/test.h")
  elseif(NOT arg_DEFINES)
    target_precompile_headers(${name} REUSE_FROM ${first})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set(timeout 300)
  if(PJRT_PLUGIN_SANITIZE)
    set(timeout 1500)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# pjrt_plugin_module(SOURCES <file>... DEPS <name>...)
#
# The plugin itself: the shared library that frameworks load. It exports GetPjrtApi and nothing else.
function(pjrt_plugin_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;DEPS")
  _pjrt_refuse_unknown(pjrt_plugin_module "" "${arg_UNPARSED_ARGUMENTS}")
  list(TRANSFORM arg_DEPS PREPEND pjrt_)
  add_library(${PJRT_PLUGIN_LIBRARY} SHARED ${arg_SOURCES})
  target_link_libraries(${PJRT_PLUGIN_LIBRARY} PRIVATE pjrt_flags ${arg_DEPS})
  target_include_directories(${PJRT_PLUGIN_LIBRARY} PRIVATE "${PROJECT_SOURCE_DIR}/csrc")
  set_target_properties(${PJRT_PLUGIN_LIBRARY} PROPERTIES PREFIX "" SUFFIX "${PJRT_PLUGIN_SUFFIX}")
  set(exports "${PROJECT_SOURCE_DIR}/cmake/exports")
  if(WIN32)
    # dllexport in the source says what leaves it; a list would be one more place to say so.
    set(exports "")
  elseif(APPLE)
    # Else the library's own name is a path of the build machine, wherever CMake cannot change it when it installs.
    set_target_properties(${PJRT_PLUGIN_LIBRARY} PROPERTIES INSTALL_NAME_DIR "@rpath" BUILD_WITH_INSTALL_NAME_DIR ON)
    target_link_options(${PJRT_PLUGIN_LIBRARY} PRIVATE
                        "LINKER:-exported_symbols_list,${exports}.apple" "LINKER:-dead_strip")
    set(exports "${exports}.apple")
  else()
    target_link_options(${PJRT_PLUGIN_LIBRARY} PRIVATE "LINKER:--version-script=${exports}.gnu"
                        "LINKER:--gc-sections")
    if(NOT PJRT_PLUGIN_SANITIZE)  # the sanitizers' symbols come from the program
      target_link_options(${PJRT_PLUGIN_LIBRARY} PRIVATE "LINKER:--no-undefined")
    endif()
    set(exports "${exports}.gnu")
  endif()
  set_target_properties(${PJRT_PLUGIN_LIBRARY} PROPERTIES LINK_DEPENDS "${exports}")
  install(TARGETS ${PJRT_PLUGIN_LIBRARY} LIBRARY DESTINATION . COMPONENT plugin
          RUNTIME DESTINATION . COMPONENT plugin)  # what Windows calls a DLL
endfunction()

function(_pjrt_refuse_unknown helper name unknown)
  if(unknown)
    message(FATAL_ERROR "${helper}(${name}): unknown arguments: ${unknown}")
  endif()
endfunction()
