# Targets of our own: wam_library, wam_test. Every one gets wam_options; third-party headers come in
# as SYSTEM and stay silent.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CUDA_FLAGS_DEV "-O1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

add_library(wam_options INTERFACE)
target_compile_options(wam_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wsign-conversion;-Werror>
  # GCC 12 sees an overlap in std::string's own insert (its bug 105651).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>)
# For every target alike: headers have inline functions that depend on it.
if(WAM_WITH_CUDA)
  target_compile_definitions(wam_options INTERFACE WAM_WITH_CUDA)
endif()
if(WAM_ASAN)
  target_compile_options(wam_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer
    # GCC 12 under ASAN warns inside std::regex.
    -Wno-error=maybe-uninitialized)
  target_link_options(wam_options INTERFACE -fsanitize=address,undefined)
endif()

# wam_library(name SOURCES ... KERNELS ... DEPENDS ...): one library, alias wam::name.
# KERNELS: sources of a build for GPUs (.cu, and .cpp that need CUDA).
# DEPENDS: what callers need too. PRIVATE: used in the sources only.
function(wam_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;KERNELS;DEPENDS;PRIVATE")
  if(WAM_WITH_CUDA AND arg_KERNELS)
    list(APPEND arg_SOURCES ${arg_KERNELS})
    list(APPEND arg_PRIVATE dep::cuda)
  endif()
  if(WAM_CHECK_LAYERS)
    add_library(wam_${name} SHARED ${arg_SOURCES})
    target_link_options(wam_${name} PRIVATE LINKER:--no-undefined)
  else()
    add_library(wam_${name} STATIC ${arg_SOURCES})
  endif()
  add_library(wam::${name} ALIAS wam_${name})
  target_include_directories(wam_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(wam_${name} PUBLIC dep::fmt ${arg_DEPENDS} PRIVATE wam_options ${arg_PRIVATE})
endfunction()

# wam_test(unit_core LAYER unit SOURCES ... DEPENDS wam::core): one executable with Catch2's main;
# every test case becomes a ctest entry with the layer as its label. A case that prints a line
# starting with "SKIPPED:" is shown as skipped.
# LAYER is one of unit|kernel|golden|dataset|dist|e2e|lint.
function(wam_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LAYER;TIMEOUT" "SOURCES;DEPENDS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE wam::test_support ${arg_DEPENDS} wam_options)
  target_compile_definitions(${name} PRIVATE WAM_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             WAM_BINARY_DIR="${PROJECT_BINARY_DIR}")
  catch_discover_tests(${name} TEST_PREFIX "${arg_LAYER}: "
    PROPERTIES LABELS ${arg_LAYER} TIMEOUT ${arg_TIMEOUT} SKIP_REGULAR_EXPRESSION "SKIPPED:")
endfunction()

# Adds every folder below this one that has a CMakeLists.txt: a new component needs no line here.
function(wam_add_subfolders)
  file(GLOB folders CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
       ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(folder IN LISTS folders)
    get_filename_component(folder ${folder} DIRECTORY)
    add_subdirectory(${folder})
  endforeach()
endfunction()
