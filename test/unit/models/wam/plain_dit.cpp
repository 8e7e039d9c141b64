#include "test/unit/models/wam/plain_dit.h"

#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace wam::test {
namespace {

enum class Kind { kClean, kNoisy, kAction, kState };

struct Token {
  Kind kind;
  std::int64_t frame, row, column;  // video
  std::int64_t block;               // -1 for frame 0
  std::int64_t position;            // of an action or a state
};

std::vector<Token> tokens_of(std::int64_t blocks,
                             std::int64_t rows,
                             std::int64_t columns,
                             std::int64_t per_block) {
  std::vector<Token> out;
  for (const Kind kind : {Kind::kClean, Kind::kNoisy}) {
    for (std::int64_t f = 0; f < 1 + 2 * blocks; ++f) {
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        out.push_back({kind, f, i / columns, i % columns, f == 0 ? -1 : (f - 1) / 2, 0});
      }
    }
  }
  for (std::int64_t a = 0; a < blocks * per_block; ++a) {
    out.push_back({Kind::kAction, 0, 0, 0, a / per_block, a});
  }
  for (std::int64_t s = 0; s < (per_block > 0 ? blocks : 0); ++s) {
    out.push_back({Kind::kState, 0, 0, 0, s, s});
  }
  return out;
}

bool sees(const Token& q, const Token& k, std::int64_t window_frames) {
  if (q.kind == Kind::kState) return k.kind == Kind::kState && k.block == q.block;
  if (q.kind == Kind::kClean) {
    if (k.kind != Kind::kClean) return false;
    const std::int64_t last_frame = q.block < 0 ? 0 : 2 + 2 * q.block;
    if (k.frame == 0) return true;
    return k.frame <= last_frame && k.frame > last_frame - window_frames;
  }
  if (q.kind == Kind::kNoisy && q.block < 0) return k.kind == Kind::kNoisy && k.block < 0;
  if (k.kind == Kind::kClean) return k.block < q.block;
  return k.block == q.block;
}

at::Tensor angles(const std::vector<Token>& tokens, std::int64_t head_width) {
  at::Tensor out =
      at::zeros({static_cast<std::int64_t>(tokens.size()), head_width / 2}, at::kDouble);
  auto a = out.accessor<double, 2>();
  const std::int64_t space = 2 * (head_width / 6);
  const std::int64_t time = head_width - 2 * space;
  const auto theta = [](std::int64_t k, std::int64_t dim) {
    return 1.0 / std::pow(10000.0, static_cast<double>(2 * k) / static_cast<double>(dim));
  };
  for (std::int64_t l = 0; l < out.size(0); ++l) {
    const Token& t = tokens[static_cast<std::size_t>(l)];
    for (std::int64_t k = 0; k < head_width / 2; ++k) {
      if (t.kind == Kind::kAction || t.kind == Kind::kState) {
        a[l][k] = static_cast<double>(t.position) * theta(k, head_width);
      } else if (k < time / 2) {
        a[l][k] = static_cast<double>(t.frame) * theta(k, time);
      } else if (k < (time + space) / 2) {
        a[l][k] = static_cast<double>(t.row) * theta(k - time / 2, space);
      } else {
        a[l][k] = static_cast<double>(t.column) * theta(k - (time + space) / 2, space);
      }
    }
  }
  return out;
}

class Plain {
 public:
  Plain(const DitInput& in, const WamConfig& config, const std::map<std::string, at::Tensor>& w)
      : in_(in), c_(config), w_(w) {}

  DitOutput run() {
    const std::int64_t blocks = (in_.noisy_BCFYX.size(2) - 1) / 2;
    const std::int64_t rows = in_.noisy_BCFYX.size(3) / 2;
    const std::int64_t columns = in_.noisy_BCFYX.size(4) / 2;
    const std::int64_t per_block = in_.action_BPA.defined() ? c_.actions_per_block : 0;
    const std::int64_t video = (1 + 2 * blocks) * rows * columns;
    const auto tokens = tokens_of(blocks, rows, columns, per_block);
    angle_ = angles(tokens, c_.head_width()).to(in_.noisy_BCFYX.scalar_type()).unsqueeze(1);
    forbidden_ = plain_mask(blocks, rows * columns, per_block, c_.window_frames()).logical_not();

    at::Tensor x = tokens_in();
    const at::Tensor e = time_embedding(tokens);
    const at::Tensor e0 = linear(at::silu(e), "time_projection.1").unflatten(-1, {6, c_.width});
    const at::Tensor text = text_context();
    const at::Tensor image = image_context();
    for (std::int64_t n = 0; n < c_.layers; ++n) {
      x = block(x, e0, text, image, "blocks." + std::to_string(n) + ".");
    }
    DitOutput out;
    out.video_BCFYX = head(x.narrow(1, video, video), e.narrow(1, video, video), rows, columns);
    if (per_block > 0) {
      const at::Tensor xa = x.narrow(1, 2 * video, blocks * per_block);
      out.action_BPA =
          category(category(xa, "action_decoder.layer1.W", "action_decoder.layer1.b").relu(),
                   "action_decoder.layer2.W", "action_decoder.layer2.b");
    }
    return out;
  }

 private:
  const at::Tensor& w(const std::string& name) const { return w_.at(name); }
  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    return at::linear(x, w(name + ".weight"), w(name + ".bias"));
  }
  at::Tensor category(const at::Tensor& x,
                      const std::string& weight,
                      const std::string& bias) const {
    return x.matmul(w(weight)[0]) + w(bias)[0];
  }
  at::Tensor norm(const at::Tensor& x) const {
    return at::layer_norm(x, {x.size(-1)}, {}, {}, c_.eps);
  }
  at::Tensor rms(const at::Tensor& x, const std::string& name) const {
    return x / ((x * x).mean(-1, true) + c_.eps).sqrt() * w(name);
  }
  at::Tensor heads(const at::Tensor& x) const {
    return x.unflatten(-1, {c_.heads, -1}).transpose(1, 2);  // B N L K
  }
  at::Tensor rope(const at::Tensor& x_BNLK) const {
    const at::Tensor even = x_BNLK.slice(-1, 0, x_BNLK.size(-1), 2);
    const at::Tensor odd = x_BNLK.slice(-1, 1, x_BNLK.size(-1), 2);
    const at::Tensor c = angle_.squeeze(1).cos();
    const at::Tensor s = angle_.squeeze(1).sin();
    return at::stack({even * c - odd * s, even * s + odd * c}, -1).flatten(-2);
  }
  at::Tensor softmax_attention(const at::Tensor& q,
                               const at::Tensor& k,
                               const at::Tensor& v,
                               const at::Tensor& forbidden) const {
    at::Tensor s = q.matmul(k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(-1)));
    if (forbidden.defined()) s = s.masked_fill(forbidden, -std::numeric_limits<double>::infinity());
    return s.softmax(-1).matmul(v).transpose(1, 2).flatten(-2);
  }

  at::Tensor video_in(const at::Tensor& latent) const {
    const at::Tensor x =
        in_.condition_BCFYX.defined() ? at::cat({latent, in_.condition_BCFYX}, 1) : latent;
    return at::conv3d(x, w("patch_embedding.weight"), w("patch_embedding.bias"), {1, 2, 2})
        .flatten(2)
        .transpose(1, 2);
  }
  at::Tensor action_times() const {
    if (in_.action_timestep_BP.defined()) return in_.action_timestep_BP;
    return in_.video_timestep_BR.slice(1, 1).repeat_interleave(c_.actions_per_block, 1);
  }
  at::Tensor tokens_in() const {
    std::vector<at::Tensor> parts = {video_in(in_.clean_BCFYX), video_in(in_.noisy_BCFYX)};
    if (in_.action_BPA.defined()) {
      const at::Tensor a = category(in_.action_BPA, "action_encoder.W1.W", "action_encoder.W1.b");
      const at::Tensor t = wave(action_times(), c_.width, /*sine_first=*/true).to(a.scalar_type());
      const at::Tensor z =
          at::silu(category(at::cat({a, t}, -1), "action_encoder.W2.W", "action_encoder.W2.b"));
      parts.push_back(category(z, "action_encoder.W3.W", "action_encoder.W3.b"));
      parts.push_back(category(
          category(in_.state_BNS, "state_encoder.layer1.W", "state_encoder.layer1.b").relu(),
          "state_encoder.layer2.W", "state_encoder.layer2.b"));
    }
    return at::cat(parts, 1);
  }
  static at::Tensor wave(const at::Tensor& t, std::int64_t width, bool sine_first) {
    std::vector<at::Tensor> sines;
    std::vector<at::Tensor> cosines;
    for (std::int64_t j = 0; j < width / 2; ++j) {
      const double f = std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(width / 2));
      sines.push_back((t.to(at::kDouble) * f).sin());
      cosines.push_back((t.to(at::kDouble) * f).cos());
    }
    const at::Tensor s = at::stack(sines, -1);
    const at::Tensor c = at::stack(cosines, -1);
    return sine_first ? at::cat({s, c}, -1) : at::cat({c, s}, -1);
  }
  at::Tensor time_embedding(const std::vector<Token>& tokens) const {
    std::vector<at::Tensor> t;
    const at::Tensor actions = in_.action_BPA.defined() ? action_times() : at::Tensor();
    for (const Token& token : tokens) {
      if (token.kind == Kind::kClean) {
        t.push_back(in_.video_timestep_BR.select(1, 0) * 0);
      } else if (token.kind == Kind::kNoisy) {
        t.push_back(in_.video_timestep_BR.select(1, 1 + token.block));
      } else if (token.kind == Kind::kAction) {
        t.push_back(actions.select(1, token.position));
      } else {
        t.push_back(actions.select(1, token.position * c_.actions_per_block));
      }
    }
    const at::Tensor s = wave(at::stack(t, 1), c_.frequency_width, /*sine_first=*/false)
                             .to(in_.noisy_BCFYX.scalar_type());
    return linear(at::silu(linear(s, "time_embedding.0")), "time_embedding.2");
  }
  at::Tensor text_context() const {
    const auto size = in_.text_BMD.sizes();
    const at::Tensor padding =
        at::zeros({size[0], c_.text_length - size[1], size[2]}, in_.text_BMD.options());
    const at::Tensor text = at::cat({in_.text_BMD, padding}, 1);
    return linear(at::gelu(linear(text, "text_embedding.0"), "tanh"), "text_embedding.2");
  }
  at::Tensor image_context() const {
    const auto affine = [&](const at::Tensor& x, const std::string& name) {
      return at::layer_norm(x, {x.size(-1)}, w(name + ".weight"), w(name + ".bias"), 1e-5);
    };
    const at::Tensor x = affine(in_.clip_BMD, "img_emb.proj.0");
    return affine(linear(at::gelu(linear(x, "img_emb.proj.1"), "none"), "img_emb.proj.3"),
                  "img_emb.proj.4");
  }

  at::Tensor block(const at::Tensor& x_in,
                   const at::Tensor& e0,
                   const at::Tensor& text,
                   const at::Tensor& image,
                   const std::string& p) const {
    const at::Tensor m = e0 + w(p + "modulation").unsqueeze(1);
    const auto g = [&](std::int64_t i) { return m.select(2, i); };
    at::Tensor x = x_in;
    at::Tensor u = norm(x) * (1 + g(1)) + g(0);
    const std::string s = p + "self_attn.";
    const at::Tensor q = rope(heads(rms(linear(u, s + "q"), s + "norm_q.weight")));
    const at::Tensor k = rope(heads(rms(linear(u, s + "k"), s + "norm_k.weight")));
    x = x + linear(softmax_attention(q, k, heads(linear(u, s + "v")), forbidden_), s + "o") * g(2);

    const std::string a = p + "cross_attn.";
    u = norm(x) * w(p + "norm3.weight") + w(p + "norm3.bias");
    const at::Tensor cq = heads(rms(linear(u, a + "q"), a + "norm_q.weight"));
    const at::Tensor yt =
        softmax_attention(cq, heads(rms(linear(text, a + "k"), a + "norm_k.weight")),
                          heads(linear(text, a + "v")), {});
    const at::Tensor yi =
        softmax_attention(cq, heads(rms(linear(image, a + "k_img"), a + "norm_k_img.weight")),
                          heads(linear(image, a + "v_img")), {});
    x = x + linear(yt + yi, a + "o");

    u = norm(x) * (1 + g(4)) + g(3);
    return x + linear(at::gelu(linear(u, p + "ffn.0"), "tanh"), p + "ffn.2") * g(5);
  }

  at::Tensor head(const at::Tensor& x,
                  const at::Tensor& e,
                  std::int64_t rows,
                  std::int64_t columns) const {
    const at::Tensor m = e.unsqueeze(2) + w("head.modulation").unsqueeze(1);
    const at::Tensor y =
        linear(norm(x) * (1 + m.select(2, 1)) + m.select(2, 0), "head.head");  // B V (q r C)
    const std::int64_t frames = x.size(1) / (rows * columns);
    std::vector<at::Tensor> pixel_rows;
    const at::Tensor grid = y.reshape({x.size(0), frames, rows, columns, 4, c_.latent_channels});
    for (std::int64_t i = 0; i < 2 * rows; ++i) {
      std::vector<at::Tensor> pixels;
      for (std::int64_t j = 0; j < 2 * columns; ++j) {
        pixels.push_back(grid.select(2, i / 2).select(2, j / 2).select(2, i % 2 * 2 + j % 2));
      }
      pixel_rows.push_back(at::stack(pixels, -1));  // B F C X
    }
    return at::stack(pixel_rows, -2).transpose(1, 2);
  }

  const DitInput& in_;
  const WamConfig& c_;
  const std::map<std::string, at::Tensor>& w_;
  at::Tensor angle_;
  at::Tensor forbidden_;
};

}  // namespace

at::Tensor plain_mask(std::int64_t blocks,
                      std::int64_t frame_tokens,
                      std::int64_t actions_per_block,
                      std::int64_t window_frames) {
  const auto tokens = tokens_of(blocks, 1, frame_tokens, actions_per_block);
  const auto length = static_cast<std::int64_t>(tokens.size());
  at::Tensor out = at::zeros({length, length}, at::kBool);
  auto a = out.accessor<bool, 2>();
  for (std::int64_t q = 0; q < length; ++q) {
    for (std::int64_t k = 0; k < length; ++k) {
      a[q][k] = sees(tokens[static_cast<std::size_t>(q)], tokens[static_cast<std::size_t>(k)],
                     window_frames);
    }
  }
  return out;
}

DitOutput plain_dit(const DitInput& in,
                    const WamConfig& config,
                    const std::map<std::string, at::Tensor>& weights) {
  return Plain(in, config, weights).run();
}

}  // namespace wam::test
