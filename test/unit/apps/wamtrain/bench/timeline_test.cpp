#include "apps/wamtrain/bench/timeline.h"

#include "test/support/catch.h"

using wam::class_of;
using wam::KernelClass;
using wam::Timeline;

TEST_CASE("timeline: idle is where nothing runs, however much runs elsewhere") {
  // Two streams: [0, 10) and [5, 20), then a gap, then [30, 40) with [32, 35) inside.
  const Timeline timeline{
      {{"b", 5, 20}, {"a", 0, 10}, {"c", 30, 40}, {"d", 32, 35}, {"Memcpy HtoD", 38, 50}}};

  CHECK(timeline.idle_share() == Approx(10.0 / 50.0));
  CHECK(Timeline{}.idle_share() == 0);
  CHECK(timeline.launches() == 4);
}

TEST_CASE("timeline: kernels add up by name and by class, per step") {
  const Timeline timeline{{{"nvjet_sm90_tst_128x256", 0, 4'000'000},
                           {"nvjet_sm90_tst_128x256", 5'000'000, 6'000'000},
                           {"Memset (Device)", 0, 500'000},
                           {"aten::mm", 0, 1'000'000, true},
                           {"aten::mm", 2'000'000, 3'000'000, false}}};

  const auto classes = timeline.ms_by_class();
  CHECK(classes.at(KernelClass::kMatrix) == Approx(7));
  CHECK(classes.at(KernelClass::kElementwise) == Approx(0.5));
  const auto kernels = timeline.kernels(2);
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].name == "nvjet_sm90_tst_128x256");
  CHECK(kernels[0].ms == Approx(2.5));
  CHECK(kernels[0].launches == 1);
  CHECK(kernels[1].name == "aten::mm");
  CHECK(kernels[1].launches == 0.5);  // a piece is no start
}

TEST_CASE("timeline: kernels are told apart by their names") {
  const std::pair<const char*, KernelClass> cases[] = {
      {"nvjet_sm90_tss_256x128_64x4_2x1_v_bz_coopA_NNT", KernelClass::kMatrix},
      {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64>(Params)", KernelClass::kMatrix},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", KernelClass::kAttention},
      {"void cudnn::fusion::compute_dot_do_o_specialized<true>(...)", KernelClass::kAttention},
      {"void cudnn::fusion::convert_dq_to_16bits<true>(...)", KernelClass::kAttention},
      {"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwc", KernelClass::kConvolution},
      {"void wam::(anonymous namespace)::rows_from_tile<64>(VideoPatchesTask)",
       KernelClass::kConvolution},
      {"void wam::(anonymous namespace)::normalise_runs_backward<true>(NormBackward)",
       KernelClass::kNorm},
      {"void wam::(anonymous namespace)::token_per_block_forward<3>(X)", KernelClass::kQkNorm},
      {"void wam::(anonymous namespace)::slab_per_block_backward<x>(X)", KernelClass::kGelu},
      {"void wam::(anonymous namespace)::slab_per_block_sum<x>(X)", KernelClass::kColumnSum},
      {"void wam::(anonymous namespace)::add_gated<x>(X)", KernelClass::kGatedResidual},
      {"void wam::(anonymous namespace)::sum_vector_per_thread(X)", KernelClass::kGather},
      {"void wam::(anonymous namespace)::columns_per_block<x>(X)", KernelClass::kRowSum},
      {"void wam::(anonymous namespace)::update_two_vectors_per_thread<x>(X)",
       KernelClass::kOptimizer},
      {"wam::(anonymous namespace)::square_sum_piece_per_block(double*)", KernelClass::kSquareSum},
      {"wam::(anonymous namespace)::add_luma(wam::ClipsTask)", KernelClass::kPictures},
      {"wam::(anonymous namespace)::write_pictures(wam::ClipsTask)", KernelClass::kPictures},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
       KernelClass::kElementwise},
      {"Memcpy DtoD (Device -> Device)", KernelClass::kElementwise},
      {"something_new", KernelClass::kOther}};
  for (const auto& [name, kind] : cases) {
    INFO(name);
    CHECK(class_of(name) == kind);
  }
}

TEST_CASE("timeline: a name for people has no arguments") {
  CHECK(wam::readable_kernel("void wam::(anonymous namespace)::add_gated<float, 2>(GatedForward, "
                             "RunWork)") == "add_gated<float, 2>");
  CHECK(wam::readable_kernel("void f<(wam::Element)1>(int)") == "f<(Element)1>");
  CHECK(wam::readable_kernel("Memcpy DtoD (Device -> Device)") == "Memcpy DtoD (Device -> Device)");
}
