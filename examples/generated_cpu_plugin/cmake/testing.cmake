# GoogleTest for the C++ unit tests: what is installed, else Debian's package unpacked into the build folder.

find_package(GTest CONFIG QUIET)
if(NOT GTest_FOUND)
  find_program(PJRT_PLUGIN_APT_GET apt-get)
  find_program(PJRT_PLUGIN_DPKG_DEB dpkg-deb)
  set(_folder "${PROJECT_BINARY_DIR}/googletest")
  set(_reason "")
  if(PJRT_PLUGIN_APT_GET AND PJRT_PLUGIN_DPKG_DEB)
    # Neither needs to be root, and nothing outside of the build folder changes.
    message(STATUS "GoogleTest is not installed: unpacking Debian's libgtest-dev into ${_folder}")
    file(REMOVE_RECURSE "${_folder}")
    file(MAKE_DIRECTORY "${_folder}")
    execute_process(COMMAND "${PJRT_PLUGIN_APT_GET}" download libgtest-dev WORKING_DIRECTORY "${_folder}"
                    RESULT_VARIABLE _failed OUTPUT_QUIET ERROR_VARIABLE _reason)
    file(GLOB _package "${_folder}/libgtest-dev_*.deb")
    if(NOT _failed AND _package)
      execute_process(COMMAND "${PJRT_PLUGIN_DPKG_DEB}" -x "${_package}" "${_folder}" ERROR_VARIABLE _reason)
    endif()
    file(GLOB _config "${_folder}/usr/lib/*/cmake/GTest")
    find_package(GTest CONFIG QUIET PATHS ${_config} NO_DEFAULT_PATH)
    if(_reason)
      set(_reason "\n`apt-get download libgtest-dev` did not bring it: ${_reason}")
    endif()
  endif()
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "The C++ unit tests need GoogleTest, which CMake does not find.
  Debian, Ubuntu   apt install libgtest-dev
  Fedora, RHEL     dnf install gtest-devel
  macOS            brew install googletest
Elsewhere: -DCMAKE_PREFIX_PATH=/where/it/is. Without the tests: -DPJRT_PLUGIN_BUILD_TESTS=OFF.${_reason}")
  endif()
endif()
