# Finds every third-party part once and offers it as an imported SYSTEM target:
#   dep::torch  dep::cuda  dep::cudnn  dep::nccl (CUDA builds)  dep::parquet  dep::ffmpeg
#   dep::sentencepiece  dep::yaml  dep::cli11  dep::json  dep::fmt  dep::xxhash  dep::utf8proc
#   dep::gloo  dep::catch2
# A missing one stops here and says how to install it.

if(DEFINED ENV{WAM_DEPS_DIR})
  set(wam_deps_default $ENV{WAM_DEPS_DIR})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(wam_deps_default $ENV{XDG_CACHE_HOME}/wamtrain/deps)
else()
  set(wam_deps_default $ENV{HOME}/.cache/wamtrain/deps)
endif()
set(WAM_DEPS_DIR ${wam_deps_default} CACHE PATH "Where scripts/setup.sh put LibTorch, Arrow and their friends")
set(wam_site ${WAM_DEPS_DIR}/site)

function(wam_need what path)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "Looking for ${what}: expected ${path}, which is not there.\n"
                        "Fix: run scripts/setup.sh, or set WAM_DEPS_DIR to where it installed.")
  endif()
endfunction()

# wam_dep(name [INCLUDE dirs...] [LINK libs...] [DEFINE defs...])
function(wam_dep name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "INCLUDE;LINK;DEFINE")
  add_library(dep_${name} INTERFACE)
  add_library(dep::${name} ALIAS dep_${name})
  target_include_directories(dep_${name} SYSTEM INTERFACE ${arg_INCLUDE})
  target_link_libraries(dep_${name} INTERFACE ${arg_LINK})
  target_compile_definitions(dep_${name} INTERFACE ${arg_DEFINE})
endfunction()

# wam_system_dep(name HEADER h DEBIAN package [LIBRARIES libs...] [SUFFIXES dirs...])
function(wam_system_dep name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;DEBIAN" "LIBRARIES;SUFFIXES;HINTS")
  find_path(wam_${name}_include ${arg_HEADER} HINTS ${arg_HINTS} PATH_SUFFIXES ${arg_SUFFIXES})
  set(found)
  foreach(library IN LISTS arg_LIBRARIES)
    find_library(wam_lib_${library} ${library} HINTS ${arg_HINTS} PATH_SUFFIXES lib)
    if(NOT wam_lib_${library})
      message(FATAL_ERROR "Looking for library ${library} (${name}): not found.\n"
                          "Fix: apt-get install ${arg_DEBIAN}, or run scripts/setup.sh.")
    endif()
    list(APPEND found ${wam_lib_${library}})
  endforeach()
  if(NOT wam_${name}_include)
    message(FATAL_ERROR "Looking for header ${arg_HEADER} (${name}): not found.\n"
                        "Fix: apt-get install ${arg_DEBIAN}, or run scripts/setup.sh.")
  endif()
  set(include ${wam_${name}_include})
  if(include STREQUAL "/usr/include")
    set(include "")
  endif()
  wam_dep(${name} INCLUDE ${include} LINK ${found})
endfunction()

# ---- GPU or not ---------------------------------------------------------------------------------
set(WAM_WITH_CUDA OFF)
if(NOT WAM_CUDA STREQUAL "OFF")
  find_program(wam_nvcc nvcc HINTS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin)
  if(WAM_CUDA STREQUAL "ON")
    if(NOT wam_nvcc)
      message(FATAL_ERROR "WAM_CUDA=ON, but nvcc was not found.\n"
                          "Fix: install the CUDA Toolkit 13.0 and put nvcc on PATH, or set WAM_CUDA=OFF.")
    endif()
    set(WAM_WITH_CUDA ON)
  elseif(wam_nvcc AND EXISTS /dev/nvidiactl)
    set(WAM_WITH_CUDA ON)
  endif()
endif()
message(STATUS "WAM_CUDA=${WAM_CUDA}: building ${WAM_WITH_CUDA} for GPUs (nvcc: ${wam_nvcc})")

# ---- LibTorch -----------------------------------------------------------------------------------
set(wam_torch ${wam_site}/torch)
wam_need("LibTorch 2.11" ${wam_torch}/include/ATen/core/Tensor.h)
# Headers only: core/base/fmt_library.cpp holds the bodies.
wam_dep(fmt INCLUDE ${wam_torch}/include)

file(GLOB wam_runtime_dirs ${wam_site}/nvidia/*/lib)
set(wam_rpath_link ${wam_runtime_dirs})
if(WAM_WITH_CUDA)
  set(CMAKE_CUDA_COMPILER ${wam_nvcc})
  set(CMAKE_CUDA_ARCHITECTURES ${WAM_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  find_package(CUDAToolkit 13.0 REQUIRED)
  list(APPEND wam_rpath_link ${CUDAToolkit_LIBRARY_DIR})
  wam_dep(cuda LINK CUDA::cudart)
  find_path(wam_cudnn_include cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(wam_cudnn_library cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
  wam_need("cuDNN frontend" ${wam_site}/include/cudnn_frontend.h)
  # The headers of the toolkit come first: the frontend brings copies. It calls NVRTC itself.
  wam_dep(cudnn INCLUDE ${wam_cudnn_include} ${wam_site}/include LINK ${wam_cudnn_library} CUDA::nvrtc)
  find_path(wam_nccl_include nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(wam_nccl_library nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
  wam_dep(nccl INCLUDE ${wam_nccl_include} LINK ${wam_nccl_library})
  set(wam_torch_gpu -Wl,--no-as-needed ${wam_torch}/lib/libtorch_cuda.so
                    ${wam_torch}/lib/libc10_cuda.so -Wl,--as-needed CUDA::cudart)
endif()
list(JOIN wam_rpath_link : wam_rpath_link_joined)
wam_dep(torch
  INCLUDE ${wam_torch}/include
  LINK ${wam_torch_gpu} -Wl,--no-as-needed ${wam_torch}/lib/libtorch_cpu.so
       ${wam_torch}/lib/libc10.so -Wl,--as-needed -Wl,-rpath-link,${wam_rpath_link_joined} dep_fmt
  DEFINE USE_DISTRIBUTED _GLIBCXX_USE_CXX11_ABI=1)
set(CMAKE_BUILD_RPATH ${wam_torch}/lib ${wam_runtime_dirs} ${wam_site}/pyarrow)

# ---- Data ---------------------------------------------------------------------------------------
wam_need("Arrow 25" ${wam_site}/pyarrow/libarrow.so.2500)
wam_dep(parquet
  INCLUDE ${wam_site}/pyarrow/include
  LINK ${wam_site}/pyarrow/libparquet.so.2500 ${wam_site}/pyarrow/libarrow.so.2500)
set(WAM_FFMPEG_DIR "" CACHE PATH "A static FFmpeg (scripts/bundle.sh builds one); empty: the system's")
if(WAM_FFMPEG_DIR)
  wam_dep(ffmpeg INCLUDE ${WAM_FFMPEG_DIR}/include
    LINK ${WAM_FFMPEG_DIR}/lib/libavformat.a ${WAM_FFMPEG_DIR}/lib/libavcodec.a
         ${WAM_FFMPEG_DIR}/lib/libswscale.a ${WAM_FFMPEG_DIR}/lib/libavutil.a dav1d z m pthread)
else()
  wam_system_dep(ffmpeg HEADER libavformat/avformat.h LIBRARIES avformat avcodec swscale avutil
    DEBIAN "libavformat-dev libavcodec-dev libswscale-dev libavutil-dev")
endif()
wam_system_dep(sentencepiece HEADER sentencepiece_processor.h
  LIBRARIES sentencepiece sentencepiece_train DEBIAN libsentencepiece-dev)
wam_system_dep(utf8proc HEADER utf8proc.h LIBRARIES utf8proc DEBIAN libutf8proc-dev)

# ---- Small libraries ----------------------------------------------------------------------------
wam_system_dep(yaml HEADER yaml-cpp/yaml.h LIBRARIES yaml-cpp DEBIAN libyaml-cpp-dev)
wam_system_dep(cli11 HEADER CLI/CLI.hpp DEBIAN libcli11-dev)
wam_system_dep(json HEADER nlohmann/json.hpp DEBIAN nlohmann-json3-dev)
wam_system_dep(xxhash HEADER xxhash.h LIBRARIES xxhash DEBIAN libxxhash-dev)
wam_system_dep(gloo HEADER gloo/context.h DEBIAN libgloo-dev)
target_compile_definitions(dep_gloo INTERFACE USE_C10D_GLOO)
# What c10d includes for it.
target_include_directories(dep_gloo SYSTEM INTERFACE ${wam_torch}/include/torch/csrc/api/include)
if(WAM_TESTS)
  find_package(Catch2 REQUIRED)
  if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
    wam_dep(catch2 LINK Catch2::Catch2 DEFINE WAM_CATCH2_VERSION=3)
  else()
    wam_dep(catch2 LINK Catch2::Catch2 DEFINE WAM_CATCH2_VERSION=2)
  endif()
  include(Catch)
endif()

find_program(wam_ccache ccache)
if(wam_ccache)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${wam_ccache})
  if(WAM_WITH_CUDA)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${wam_ccache})
  endif()
endif()
find_program(wam_mold mold)
if(wam_mold)
  add_link_options(-fuse-ld=mold)
endif()
