# Thin: Meson builds, this file only gives the commands short names. `make help` lists them.
BUILD ?= build
# SETUP=0 leaves the system's packages alone.
SETUP ?= 1
# Above 1: give tests more time on a slow or busy machine.
TIMEOUT_FACTOR ?= 3
FUZZ_SECONDS ?= 30
# Further words for meson when a folder is configured, such as --werror or -Dbuildtype=debug.
MESONFLAGS ?=
# Options of bench/compare.
BENCH ?=
# Experiments in each row of make sim.
SIM ?= 5000

setup = $(if $(filter-out 0,$(SETUP)),tools/setup $(1))
configure = test -f $(1)/build.ninja || meson setup $(1) $(2) $(MESONFLAGS)
# A folder that was configured before cmocka was there has no tests yet.
configure_tests = test -d $(1)/tests || \
    meson setup $$(test -f $(1)/build.ninja && echo --reconfigure) $(1) -Dtests=enabled -Dtrainer=enabled $(2) $(MESONFLAGS)

.DEFAULT_GOAL := help
.PHONY: help setup build demo deb install test quick sim asan fuzz bench style tidy layers hdr-check format clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install every package of tools/packages.txt that is missing
	@$(call setup,)

build: ## compile both programs into build/
	@$(call setup,build lab train)
	@$(call configure,$(BUILD))
	@ninja -C $(BUILD)

demo: ## set up, build, and sweep a real training run: a few minutes to the first table
	@$(call setup,build lab train)
	@$(call configure,$(BUILD))
	@ninja -C $(BUILD)
	@tools/demo $(BUILD)

install: build ## install programs, man pages, completion, marker header, Python file (DESTDIR=... to stage)
	@meson install -C $(BUILD) --no-rebuild

deb: ## build Debian's packages of what is committed, into build-deb/ (tools/try-deb tries them in a clean chroot)
	@$(call setup,build lab train deb)
	@tools/deb $(BUILD)-deb

test: ## set up, build, and run all tests
	@$(call setup,build lab train test)
	@$(call configure_tests,$(BUILD))
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs -t $(TIMEOUT_FACTOR)

quick: ## as test, without the slow ones
	@$(call setup,build lab train test)
	@$(call configure_tests,$(BUILD))
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs -t $(TIMEOUT_FACTOR) --no-suite slow

sim: ## simulate whole experiments through the verdicts: error rates, coverage, power as a table (2 minutes; SIM=5000)
	@$(call setup,build lab test)
	@$(call configure_tests,$(BUILD))
	@ninja -C $(BUILD) tests/stats/simulate >&2
	@$(BUILD)/tests/stats/simulate $(SIM)

asan: ## the quick tests under the address and undefined-behaviour sanitizers
	@$(call setup,build lab train test)
	@$(call configure_tests,$(BUILD)-asan,-Db_sanitize=address$(comma)undefined)
	@ninja -C $(BUILD)-asan
	@UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=abort_on_error=0:allocator_may_return_null=1 \
	    meson test -C $(BUILD)-asan --no-rebuild --print-errorlogs -t $$(($(TIMEOUT_FACTOR) * 4)) --no-suite slow

fuzz: ## search for inputs that break a parser, FUZZ_SECONDS (30) for each target
	@$(call setup,build lab train test check)
	@test -f $(BUILD)-fuzz/build.ninja || CC=clang meson setup $(BUILD)-fuzz -Dfuzz=true -Dtests=disabled \
	    -Db_sanitize=address$(comma)undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link
	@ninja -C $(BUILD)-fuzz
	@tools/fuzz $(BUILD)-fuzz/fuzz $(FUZZ_SECONDS)

bench: ## measure the lab's own cost, and batchlab-train against PyTorch: 10 minutes on a quiet machine (BENCH="--blocks 7 ...")
	@$(call setup,build lab train torch)
	@$(call configure,$(BUILD))
	@ninja -C $(BUILD)
	@bench/overhead --lab $(BUILD)/src/lab/batchlab
	@bench/compare --trainer $(BUILD)/src/train/batchlab-train --out $(BUILD)/bench.json $(BENCH)

style: ## check formatting, shell scripts and the length of files
	@$(call setup,check)
	@tools/check-style

tidy: ## look for likely bugs with clang-tidy (.clang-tidy)
	@$(call setup,build lab train check)
	@$(call configure,$(BUILD))
	@git ls-files 'src/*.c' | xargs -P 2 -n 8 clang-tidy -p $(BUILD) --quiet 2>/dev/null

layers: ## check that includes follow the arrows of tools/layers.txt
	@tools/check-layers --self-test
	@tools/check-layers

hdr-check: ## check that every header compiles alone, the public one as C99 and C++ too
	@$(call setup,build lab train check)
	@tools/check-headers

format: ## rewrite the C files as .clang-format wants them
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove the build folders
	rm -rf $(BUILD) $(BUILD)-*

comma := ,
