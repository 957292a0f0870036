// Loading a pair: what fits, what is refused and in which words.
#include <llama.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <random>

#include "engine/llama/loading.h"
#include "integration/model_files.h"

namespace relaygen {
namespace {

using test::demo;
using test::demo_options;
using test::TempFolder;

/// A message for a person: a complete sentence without a full stop, and no traces of the code.
void expect_sentence(const Error& error) {
  EXPECT_FALSE(error.message.empty());
  EXPECT_TRUE(std::isupper(static_cast<unsigned char>(error.message.front())) != 0) << error.message;
  EXPECT_FALSE(error.message.ends_with('.')) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("llama_model_load"), std::string::npos) << error.message;
}

#define EXPECT_ERROR(result, expected_kind, part)                                                  \
  do {                                                                                             \
    ASSERT_FALSE((result).has_value());                                                            \
    EXPECT_EQ((result).error().kind, (expected_kind)) << (result).error().message;                 \
    EXPECT_NE((result).error().message.find(part), std::string::npos) << (result).error().message; \
    expect_sentence((result).error());                                                             \
  } while (false)

Result<std::unique_ptr<Pair>> load(const std::string& large, const std::string& small) {
  PairOptions options;
  options.large.path = large;
  options.small.path = small;
  return Pair::load(options);
}

TEST(Library, IsTheOneThatTheHeadersDescribe) {
  constexpr const char* kAdvice =
      "the prebuilt llama.cpp does not match its headers: build it from source (-DRELAYGEN_LLAMA=source)";
  EXPECT_NE(std::string(llama_version()).find("0.4.0"), std::string::npos) << llama_version() << ": " << kAdvice;
  const llama_model_params model = llama_model_default_params();
  EXPECT_EQ(model.n_gpu_layers, -1) << kAdvice;
  EXPECT_EQ(model.load_mode, LLAMA_LOAD_MODE_AUTO) << kAdvice;
  EXPECT_EQ(model.progress_callback, nullptr) << kAdvice;
  EXPECT_TRUE(model.use_extra_bufts) << kAdvice;
  EXPECT_FALSE(model.vocab_only || model.no_alloc || model.load_mtp) << kAdvice;
  const llama_context_params context = llama_context_default_params();
  EXPECT_EQ(context.n_ctx, 512u) << kAdvice;
  EXPECT_EQ(context.n_batch, 2048u) << kAdvice;
  EXPECT_EQ(context.n_ubatch, 512u) << kAdvice;
  EXPECT_EQ(context.n_seq_max, 1u) << kAdvice;
  EXPECT_EQ(context.flash_attn_type, LLAMA_FLASH_ATTN_TYPE_AUTO) << kAdvice;
  EXPECT_EQ(context.type_k, GGML_TYPE_F16) << kAdvice;
  EXPECT_EQ(context.abort_callback, nullptr) << kAdvice;
  EXPECT_TRUE(context.offload_kqv && context.no_perf && context.op_offload && context.swa_full) << kAdvice;
  EXPECT_FALSE(context.kv_unified || context.embeddings) << kAdvice;
  EXPECT_EQ(context.ctx_other, nullptr) << kAdvice;
}

TEST(InspectModelFile, DescribesTheBundledModels) {
  const auto large = inspect_model_file(demo(Model::large));
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->architecture, "qwen3");
  EXPECT_EQ(large->training_window, 512);
  EXPECT_EQ(large->file_bytes, std::filesystem::file_size(demo(Model::large)));
  EXPECT_GT(large->weight_bytes, 5'000'000u);
  EXPECT_LT(large->weight_bytes, large->file_bytes);
  EXPECT_FALSE(large->name.empty());
}

TEST(InspectModelFile, RefusesWhatIsNoModel) {
  const TempFolder folder;
  const std::string file = folder.file("x.gguf");
  EXPECT_ERROR(inspect_model_file(""), ErrorKind::bad_model, "empty");
  EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, "does not exist");
  EXPECT_ERROR(inspect_model_file(folder.file("")), ErrorKind::bad_model, "folder");
  EXPECT_ERROR(inspect_model_file("/dev/null"), ErrorKind::bad_model, "no ordinary file");
  test::write_bytes(file, "");
  EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, "empty");
  test::write_bytes(file, "G");
  EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, "not a GGUF file");
  test::write_bytes(file, "This is a text about models.\n");
  EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, "not a GGUF file");
  if (geteuid() != 0) {
    std::filesystem::permissions(file, std::filesystem::perms::none);
    EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, "ermission");
  }
}

TEST(InspectModelFile, RefusesOtherVersions) {
  const TempFolder folder;
  const std::string file = folder.file("x.gguf");
  for (const auto& [version, words] :
       {std::pair{std::string("\1\0\0\0", 4), "version 1"}, std::pair{std::string("\11\0\0\0", 4), "version 9"},
        std::pair{std::string("\0\0\0\3", 4), "byte order"}}) {
    std::string bytes = test::read_bytes(demo(Model::small));
    bytes.replace(4, 4, version);
    test::write_bytes(file, bytes);
    EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, words);
  }
}

TEST(InspectModelFile, RefusesTheModelCutAtAnyLength) {
  const TempFolder folder;
  const std::string file = folder.file("x.gguf");
  const std::string bytes = test::read_bytes(demo(Model::small));
  std::vector<std::size_t> lengths;
  for (std::size_t length = 1; length < 200; ++length) lengths.push_back(length);
  for (std::size_t length = 200; length < bytes.size(); length += 1009) lengths.push_back(length);
  lengths.push_back(bytes.size() - 64);
  for (const std::size_t length : lengths) {
    test::write_bytes(file, std::string_view(bytes).substr(0, length));
    const auto info = inspect_model_file(file);
    ASSERT_FALSE(info) << length;
    EXPECT_EQ(info.error().kind, ErrorKind::bad_model);
    if (length > 8) {
      EXPECT_NE(info.error().message.find("cut short"), std::string::npos) << length << ": " << info.error().message;
    }
    expect_sentence(info.error());
  }
}

TEST(InspectModelFile, SurvivesAnyBytes) {
  const TempFolder folder;
  const std::string file = folder.file("x.gguf");
  const std::string good = test::read_bytes(demo(Model::small));
  std::mt19937_64 random(1);
  const std::size_t header = good.size() - 190'000;  // most of the file is weights
  for (int round = 0; round < 600; ++round) {
    std::string bytes = good;
    if (round % 3 == 0) {  // nothing but the magic is right
      bytes.resize(1 + random() % 300);
      for (char& byte : bytes) byte = static_cast<char>(random());
      bytes = "GGUF\3\0\0\0" + bytes;
      bytes[5] = bytes[6] = bytes[7] = 0;
    } else {
      for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
        bytes[random() % (round % 3 == 1 ? 64 : header)] = static_cast<char>(random());
      }
    }
    test::write_bytes(file, bytes);
    const auto info = inspect_model_file(file);
    EXPECT_TRUE(info || info.error().kind == ErrorKind::bad_model);
  }
}

TEST(InspectModelFile, FindsThePartsOfASplitModel) {
  const TempFolder folder;
  const auto part = [&](int number) { return folder.file("m-0000" + std::to_string(number) + "-of-00003.gguf"); };
  const auto write_part = [&](int number, const std::string& path) {
    test::write_variant(demo(Model::small), path, {.edit = [&](gguf_context* gguf) {
                          gguf_set_val_u16(gguf, "split.no", static_cast<std::uint16_t>(number - 1));
                          gguf_set_val_u16(gguf, "split.count", 3);
                        }});
  };
  for (const int number : {1, 2, 3}) write_part(number, part(number));
  const auto one = inspect_model_file(demo(Model::small));
  const auto all = inspect_model_file(part(1));
  ASSERT_TRUE(one && all) << all.error().message;
  EXPECT_EQ(all->weight_bytes, 3 * one->weight_bytes);

  EXPECT_ERROR(inspect_model_file(part(2)), ErrorKind::bad_model, "part 2 of 3");
  write_part(1, folder.file("renamed.gguf"));
  EXPECT_ERROR(inspect_model_file(folder.file("renamed.gguf")), ErrorKind::bad_model, "its name does not");
  std::filesystem::remove(part(3));
  EXPECT_ERROR(inspect_model_file(part(1)), ErrorKind::bad_model, "m-00003-of-00003.gguf");
}

TEST(InspectModelFile, RefusesAVocabularyWithoutWeights) {
  const std::string file = RELAYGEN_SOURCE_DIR "/.deps/llama.cpp/models/ggml-vocab-qwen2.gguf";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "llama.cpp's own test files are not there";
  EXPECT_ERROR(inspect_model_file(file), ErrorKind::bad_model, "no weights");
}

TEST(PairLoad, LoadsTheBundledPairQuietly) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const auto pair = Pair::load(demo_options());
  const std::string out = testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(out, "");

  const PairInfo& info = (*pair)->info();
  EXPECT_EQ(info.window, 512);
  EXPECT_EQ(info.threads, 1);
  EXPECT_TRUE(info.same_chat_template);
  for (const PairInfo::One* one : {&info.large, &info.small}) {
    EXPECT_EQ(one->training_window, 512);
    EXPECT_EQ(one->vocabulary_size, 763);
    EXPECT_EQ(one->vocabulary_hash.size(), 16u);
    EXPECT_TRUE(one->can_cut_cache);
    EXPECT_TRUE(one->has_chat_template);
    EXPECT_NE(one->description.find("qwen3"), std::string::npos) << one->description;
    EXPECT_GT(one->memory.cache, 0u);
    EXPECT_GT(one->memory.compute, 0u);
  }
  EXPECT_EQ(info.large.vocabulary_hash, info.small.vocabulary_hash);
  EXPECT_EQ(info.large.memory.cache, 512u * 6 * 2 * 64 * 2);  // tokens x layers x (K, V) x width x bytes
  EXPECT_EQ((*pair)->limits().window, 512);
  EXPECT_EQ((*pair)->limits().batch, 512);
  EXPECT_EQ((*pair)->limits().output_rows, 64);
  EXPECT_EQ((*pair)->vocabulary().size(), 763);
}

TEST(PairLoad, ReportsProgressAndLog) {
  std::array<std::vector<float>, 2> fractions;
  std::vector<std::string> lines;
  {
    const auto pair = Pair::load(
        demo_options(),
        [&](Model model, float fraction) {
          fractions[static_cast<std::size_t>(model)].push_back(fraction);
          return true;
        },
        [&](int level, std::string_view line) {
          EXPECT_TRUE(level >= 1 && level <= 4);
          EXPECT_EQ(line.find('\n'), std::string_view::npos);
          lines.emplace_back(line);
        });
    ASSERT_TRUE(pair);
  }
  for (const auto& model : fractions) {
    ASSERT_FALSE(model.empty());
    EXPECT_TRUE(std::ranges::is_sorted(model));
    EXPECT_EQ(model.back(), 1.0f);
  }
  EXPECT_GT(lines.size(), 20u);
  ASSERT_TRUE(Pair::load(demo_options()));  // takes the sink, which refers to this test's variables, out again
}

TEST(PairLoad, StopsWhenProgressSaysSo) {
  for (const Model at : {Model::large, Model::small}) {
    const auto pair = Pair::load(demo_options(), [&](Model model, float) { return model != at; });
    EXPECT_ERROR(pair, ErrorKind::cancelled, name(at));
  }
}

TEST(PairLoad, TakesOneModelTwice) {
  const auto pair = load(demo(Model::small), demo(Model::small));
  ASSERT_TRUE(pair) << pair.error().message;
}

TEST(PairLoad, NamesTheFirstTokenThatDiffers) {
  const TempFolder folder;
  const std::string other = folder.file("other.gguf");
  const auto expect_mismatch = [&](const test::Variant& variant, const char* words) {
    test::write_variant(demo(Model::small), other, variant);
    for (const bool check_memory : {true, false}) {  // before the weights are read, and after
      PairOptions options = demo_options();
      options.small.path = other;
      options.check_memory = check_memory;
      const auto pair = Pair::load(options);
      EXPECT_ERROR(pair, ErrorKind::pair_mismatch, words);
      EXPECT_FALSE(pair.error().hint.empty());
    }
  };
  expect_mismatch({.change = [](test::Tables& tables) { tables.tokens[500] = "line\nbreak"; }}, "token 500 is \"");
  expect_mismatch({.change = [](test::Tables& tables) { tables.tokens[500] = "line\nbreak"; }},
                  "\"line\\nbreak\" in the small one");
  expect_mismatch({.change = [](test::Tables& tables) { tables.types[700] = 3; }}, "token 700 (");
  expect_mismatch({.change = [](test::Tables& tables) { tables.types[761] = 1; }},
                  "\"<think>\") is a user-defined token in the large one");
  expect_mismatch({.edit = [](gguf_context* gguf) { gguf_set_val_u32(gguf, "tokenizer.ggml.eos_token_id", 11); }},
                  "ends the text only in the small one");
  expect_mismatch({.change = test::padding(129)}, "token 891 is \"[PAD891]\" in the small one");
  expect_mismatch({.change =
                       [](test::Tables& tables) {
                         tables.tokens.push_back("word");
                         tables.types.push_back(1);
                       }},
                  "token 763 is \"word\"");
}

TEST(PairLoad, SharesVocabulariesThatDifferInPaddingOnly) {
  const TempFolder folder;
  const std::string padded = folder.file("padded.gguf");
  test::write_variant(demo(Model::large), padded, {.change = test::padding(128)});
  const auto plain = Pair::load(demo_options());
  const auto pair = load(padded, demo(Model::small));
  ASSERT_TRUE(plain && pair) << pair.error().message;
  EXPECT_EQ((*pair)->vocabulary().size(), 763);
  EXPECT_EQ((*pair)->info().large.vocabulary_size, 891);
  EXPECT_EQ((*pair)->info().large.vocabulary_hash, (*plain)->info().large.vocabulary_hash);

  const auto tokens = (*plain)->vocabulary().tokenize("Tom has 3 apples.");
  const auto expected = (*plain)->decode(Model::large, *tokens, 3);
  const auto rows = (*pair)->decode(Model::large, *tokens, 3);
  ASSERT_TRUE(tokens && expected && rows);
  for (std::size_t row = 0; row < 3; ++row) {
    ASSERT_EQ((*rows)[row].size(), 763u);
    for (std::size_t i = 0; i < 763; ++i) ASSERT_NEAR((*rows)[row][i], (*expected)[row][i], 1e-3) << row << " " << i;
  }
  EXPECT_EQ((*pair)->vocabulary().piece(763), "");
}

TEST(PairLoad, SaysWhyAModelCannotBeLoaded) {
  const TempFolder folder;
  const std::string file = folder.file("x.gguf");
  std::string bytes = test::read_bytes(demo(Model::small));
  test::replace_first(bytes, "qwen3", "qwenX");
  test::write_bytes(file, bytes);
  EXPECT_ERROR(load(demo(Model::large), file), ErrorKind::bad_model, "unknown model architecture: 'qwenX'");

  bytes = test::read_bytes(demo(Model::small));
  test::replace_first(bytes, "blk.1.attn_q.weight", "blk.1.attn_x.weight");
  test::write_bytes(file, bytes);
  EXPECT_ERROR(load(demo(Model::large), file), ErrorKind::bad_model, "blk.1.attn_q.weight");

  EXPECT_ERROR(load(folder.file("none.gguf"), file), ErrorKind::bad_model, "none.gguf");
  EXPECT_ERROR(load(demo(Model::large), folder.file("none.gguf")), ErrorKind::bad_model, "none.gguf");
}

TEST(PairLoad, RefusesOptionsThatMakeNoSense) {
  const auto expect_usage = [](const std::function<void(PairOptions&)>& change, const char* words) {
    PairOptions options = demo_options();
    change(options);
    const auto pair = Pair::load(options);
    EXPECT_ERROR(pair, ErrorKind::usage, words);
  };
  expect_usage([](PairOptions& o) { o.large.cache_type_k = "q9_9"; }, "\"q9_9\"");
  expect_usage(
      [](PairOptions& o) {
        o.small.cache_type_v = "q8_0";
        o.flash_attention = FlashAttention::off;
      },
      "flash attention");
  expect_usage(
      [](PairOptions& o) {
        o.small.cache_type_k = "iq4_nl";
        o.flash_attention = FlashAttention::on;
        o.large.cache_type_v = "F16";
      },
      "\"F16\"");
  expect_usage([](PairOptions& o) { o.threads = -1; }, "(-t)");
  expect_usage([](PairOptions& o) { o.threads = 100'000; }, "threads");
  expect_usage([](PairOptions& o) { o.context = -5; }, "(-c)");
  expect_usage([](PairOptions& o) { o.context = 2'000'000'000; }, "2000000000");
  expect_usage([](PairOptions& o) { o.batch = 0; }, "(-b)");
  expect_usage([](PairOptions& o) { o.micro_batch = 0; }, "(-ub)");

  PairOptions options = demo_options();
  options.large.cache_type_k = "nonsense";
  EXPECT_NE(Pair::load(options).error().hint.find("q8_0"), std::string::npos);
}

TEST(PairLoad, HonoursContextBatchAndCacheOptions) {
  PairOptions options = demo_options();
  options.context = 300;
  options.batch = 40;
  options.large.cache_type_k = options.large.cache_type_v = "q8_0";
  options.threads = 2;
  options.use_mmap = false;
  const auto pair = Pair::load(options);
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ((*pair)->limits().window, 300);
  EXPECT_EQ((*pair)->limits().batch, 40);
  EXPECT_EQ((*pair)->limits().output_rows, 40);
  EXPECT_EQ((*pair)->info().threads, 2);
  EXPECT_LT((*pair)->info().large.memory.cache, 512u * 6 * 2 * 64 * 2);

  options = demo_options();
  options.context = 700;  // more than the models were trained for: allowed, with a warning
  bool warned = false;
  const auto longer = Pair::load(options, {}, [&](int level, std::string_view line) {
    warned |= level == 3 && line.find("700") != std::string_view::npos;
  });
  ASSERT_TRUE(longer);
  EXPECT_EQ((*longer)->limits().window, 700);
  EXPECT_TRUE(warned);
  ASSERT_TRUE(Pair::load(demo_options()));
}

TEST(PairMemory, IsKnownBeforeLoading) {
  const auto memory = estimate_memory(demo_options());
  ASSERT_TRUE(memory) << memory.error().message;
  const auto pair = Pair::load(demo_options());
  ASSERT_TRUE(pair);
  const PairInfo& info = (*pair)->info();
  EXPECT_EQ(memory->large.cache, info.large.memory.cache);
  EXPECT_EQ(memory->small.cache, info.small.memory.cache);
  EXPECT_EQ(memory->large.weights, info.large.memory.weights);
  EXPECT_NEAR(static_cast<double>(memory->large.weights), 5.0e6, 0.2e6);
  EXPECT_NEAR(static_cast<double>(memory->large.compute), static_cast<double>(info.large.memory.compute), 1e6);
  EXPECT_GT(memory->available, memory->large.total() + memory->small.total());
}

TEST(PairMemory, APairThatDoesNotFitIsRefused) {
  engine::PairMemoryUse use;
  use.large.by_device[nullptr] = std::uint64_t{9} << 30;
  use.small.by_device[nullptr] = std::uint64_t{1} << 29;
  EXPECT_TRUE(engine::check_fit(use, std::uint64_t{10} << 30));
  EXPECT_TRUE(engine::check_fit(use, 0));  // unknown
  const Status status = engine::check_fit(use, std::uint64_t{3} << 30);
  EXPECT_ERROR(status, ErrorKind::out_of_memory, "needs 9.5 GiB of memory, 3.0 GiB are free");
}

}  // namespace
}  // namespace relaygen
