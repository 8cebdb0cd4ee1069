# Your C++ sources, tests, include folders and libraries. Yours: no update touches this file.
#
# Paths are relative to csrc/vendor. VENDOR: add the files of your backend here.
set(PLUGIN_VENDOR_SOURCES
    backend.cc
    overrides.cc)
# Each x_test.cc is a test program of its own.
set(PLUGIN_VENDOR_TESTS)
# Libraries to link, as for target_link_libraries: find them with find_package above this line.
set(PLUGIN_VENDOR_LIBRARIES)
