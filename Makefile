# Thin names over the CMake presets. `make run` and `make test` set up whatever is missing first.
#
#   make run      builds, then solves one problem with the bundled pair
#   make test     builds, then runs all tests
#   make web-test tests the HTML report in Chromium
#   make build    builds build/release/relaygen
#   make asan     all tests with the address and undefined-behaviour sanitizers;  make tsan: the thread sanitizer
#   make fuzz     every fuzz target for FUZZ_SECONDS seconds (Clang 14)
#   make bench    the benchmarks;  make bench-llama: large-only beside llama.cpp's llama-bench, built from source
#   make format   formats the sources;  make format-check only checks;  make tidy runs clang-tidy
#   make clean    deletes build/;  make distclean also what was fetched
#
# Variables:
#   LLAMA=prebuilt|source|PATH   where llama.cpp comes from: npm's libraries, npm's source, or a checkout of your own
#   GPU=cuda|metal|vulkan        a GPU back end; llama.cpp is then built from source
#   JOBS=N                       parallel jobs (default: all cores)
# docs/building.md tells the rest.

LLAMA ?= prebuilt
GPU ?=
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 20
ARGS ?=
export RELAYGEN_DEPS

ifneq ($(filter-out cuda metal vulkan,$(GPU)),)
  $(error GPU=$(GPU) is not known: give cuda, metal or vulkan)
endif
ifneq ($(GPU),)
  gpu_option := -DGGML_$(shell echo $(GPU) | tr a-z A-Z)=ON
  ifeq ($(LLAMA),prebuilt)
    override LLAMA := source
  endif
endif

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: run build dev test web-test asan tsan fuzz bench bench-llama format format-check tidy clean distclean

# Installs and fetches what is missing, configures build/PRESET when its options changed, builds.
#   $(call build,PRESET,PACKAGE GROUPS,COMMAND PREFIX,TARGETS)
define build
@scripts/install-deps $(2)
@scripts/fetch-web
@set -e; llama='$(LLAMA)'; \
case "$$llama" in prebuilt|source) scripts/fetch-llama "$$llama"; llama=$$(scripts/fetch-llama --choose "$$llama");; esac; \
options="-DRELAYGEN_LLAMA=$$llama $(gpu_option) $${RELAYGEN_DEPS:+-DRELAYGEN_DEPS=$$RELAYGEN_DEPS}"; \
if [ ! -f build/$(1)/build.ninja ] || [ "$$(cat build/$(1)/.options 2>/dev/null)" != "$$options" ]; then \
  set -- "-DRELAYGEN_LLAMA=$$llama" $(gpu_option) $${RELAYGEN_DEPS:+"-DRELAYGEN_DEPS=$$RELAYGEN_DEPS"}; \
  scripts/quiet build/$(1)/configure.log "configuring build/$(1)" cmake --fresh --preset $(1) "$$@"; \
  echo "$$options" > build/$(1)/.options; \
fi; \
scripts/quiet build/$(1)/build.log "building build/$(1)" $(3) cmake --build --preset $(1) --parallel $(JOBS) $(addprefix --target ,$(4))
endef

# Runs all tests of build/PRESET and prints ctest's closing lines.
define run_tests
@scripts/quiet build/$(1)/test.log "testing build/$(1)" $(2) ctest --preset $(1) --parallel $(JOBS)
@grep -E 'tests passed|^Total Test time|did not run|\(Skipped\)$$' build/$(1)/test.log
endef

build:
	$(call build,release,,,relaygen)

dev:
	$(call build,dev)

run: build
	@build/release/relaygen run $(if $(ARGS),$(ARGS),--temp 0 < /dev/null)

test:
	$(call build,release)
	$(call run_tests,release)

# The pages stay in build/release/pages.
web-test:
	$(call build,release,web,,render_report)
	@scripts/fetch-web test
	@node web/report/test/browser.mjs build/release/tests/render_report "$${RELAYGEN_DEPS:-.deps}/web-test" build/release/pages

asan:
	$(call build,asan)
	$(call run_tests,asan)

# The thread sanitizer needs a fixed memory layout.
fixed_layout := $(shell setarch -R true 2>/dev/null && echo setarch -R)
tsan:
	$(call build,tsan,,$(fixed_layout))
	$(call run_tests,tsan,$(fixed_layout))

# New inputs are kept in build/fuzz/corpus; seeds, where there are some, come from tests/fuzz/corpus.
fuzz:
	$(call build,fuzz,fuzz)
	@set -e; found=; \
	for target in build/fuzz/tests/fuzz/*_fuzz; do \
	  [ -x "$$target" ] || continue; \
	  found=yes; name=$$(basename "$$target"); corpus=build/fuzz/corpus/$$name; mkdir -p "$$corpus"; \
	  seeds=tests/fuzz/corpus/$$name; [ -d "$$seeds" ] || seeds=; \
	  scripts/quiet build/fuzz/$$name.log "fuzzing $$name for $(FUZZ_SECONDS) s" "$$target" -max_total_time=$(FUZZ_SECONDS) \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/$$name- "$$corpus" $$seeds; \
	  echo "$$name: $$(sed -n 's/^stat::number_of_executed_units: *//p' build/fuzz/$$name.log) inputs, no failure"; \
	done; \
	if [ -z "$$found" ]; then echo "There are no fuzz targets in build/fuzz/tests/fuzz." >&2; exit 1; fi

bench:
	$(call build,bench)
	@set -e; for bench in build/bench/bench/*_bench; do [ ! -x "$$bench" ] || "$$bench" $(ARGS); done

# Our large-only policy beside llama-bench, both from the same source build.
bench-llama: override LLAMA := source
bench-llama:
	$(call build,bench-llama)
	@python3 bench/against_llama_bench.py build/bench-llama/relaygen build/bench-llama/bin/llama-bench \
	  models/demo/relaygen-demo-large.gguf --small models/demo/relaygen-demo-small.gguf $(ARGS)

sources = $$(find include src tests bench -name '*.h' -o -name '*.cpp')

format:
	@scripts/install-deps format
	@clang-format-14 -i $(sources)

format-check:
	@scripts/install-deps format
	@scripts/quiet build/format.log "checking the format (\`make format\` repairs it)" clang-format-14 --dry-run --Werror $(sources)
	@if grep -nE 'for \([^;]* : [^;]*\)(\[|\.at\()' $(sources); then echo "A loop over a part of a temporary reads what is gone: give the whole a name." >&2; exit 1; fi

tidy:
	$(call build,release)
	@scripts/install-deps tidy
	@scripts/quiet build/tidy.log "running clang-tidy" sh -c \
	  "find src -name '*.cpp' -print0 | xargs -0 -n 1 -P $(JOBS) clang-tidy-14 -p build/release --quiet"

clean:
	@rm -rf build

distclean: clean
	@rm -rf "$${RELAYGEN_DEPS:-.deps}"
