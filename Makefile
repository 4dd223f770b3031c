# Updraft. `make help` lists the targets; `make demo` and `make check` also install what is missing.
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
comma := ,

# Knobs: auto, yes or no. `yes` and absent is an error that points at $(B)/config.log.
CUDA   ?= auto
STATIC ?=
SANITIZE ?=
COVERAGE ?=
WERROR ?=
V ?=
CUDA_HOME  ?= /usr/local/cuda
CUDA_ARCHS ?= 80 86 89 90 100 120
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share/updraft
MAN1DIR ?= $(PREFIX)/share/man/man1

ifeq ($(origin CC),default)
CC := gcc
endif
NVCC ?= $(CUDA_HOME)/bin/nvcc
AR ?= ar
B := build$(if $(filter-out gcc,$(notdir $(CC))),-$(notdir $(CC)))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(COVERAGE),-cov)$(if $(STATIC),-static)

# clang's NAN is a float, so there its every use would be a promotion.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wwrite-strings -Wpointer-arith -Wvla -Wformat=2 -Wundef \
	$(if $(findstring clang,$(CC)),,-Wdouble-promotion) -fno-common
OPT := -O2 -g
ALL_CPPFLAGS = -I. -D_GNU_SOURCE $(PKG_CPPFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=c11 $(OPT) $(WARNINGS) $(if $(WERROR),-Werror) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
	$(if $(COVERAGE),--coverage) $(CFLAGS)
ALL_LDFLAGS = $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(if $(COVERAGE),--coverage) $(LDFLAGS)
ALL_NVCCFLAGS = -I. -O3 -lineinfo -std=c++17 -Xcompiler -Wall$(comma)-Wextra$(comma)-fno-exceptions$(comma)-fno-rtti \
	$(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) \
	-gencode arch=compute_$(lastword $(CUDA_ARCHS))$(comma)code=compute_$(lastword $(CUDA_ARCHS)) $(NVCCFLAGS)
Q := $(if $(V),,@)

.PHONY: all
all: $(B)/updraft ## build the program

# --- What is there: probes that compile and link, run once per set of knobs ---------------------
GOALS := $(or $(MAKECMDGOALS),all)
NO_CONFIG := help clean deps format fresh
ifneq ($(filter-out $(NO_CONFIG),$(GOALS)),)
include $(B)/config.mk
endif

KNOBS := $(CUDA) $(CUDA_HOME) $(CC) $(STATIC) $(CFLAGS) $(LDFLAGS)
$(B)/knobs: FORCE
	@mkdir -p $(@D); echo '$(KNOBS)' | cmp -s - $@ || echo '$(KNOBS)' >$@

lib = $(if $(STATIC),-Wl$(comma)-Bstatic $(1) -Wl$(comma)-Bdynamic,$(1))
GSL_LIBS    := $(call lib,-lgsl -lgslcblas) -lm
# Debian ships no static cJSON: STATIC takes it where there is one.
CJSON_LIBS  := $(if $(findstring /,$(shell $(CC) -print-file-name=libcjson.a)),$(call lib,-lcjson),-lcjson)
SQLITE_LIBS := $(call lib,-lsqlite3) -lpthread -ldl -lm
CUDA_LIBS   := -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++

# try(NAME, knob, program, flags): HAVE_NAME is 1 where the program compiles and links.
try = if [ '$(2)' = no ]; then echo 'HAVE_$(1) :='; \
	elif printf '$(3)' | $(CC) -x c -o /dev/null - $(4) $(LDFLAGS) 2>>$(B)/config.log; then echo 'HAVE_$(1) := 1'; \
	elif [ '$(2)' = yes ]; then echo "updraft: $(1) is required but its probe failed: see $(B)/config.log; make deps installs packages" >&2; exit 1; \
	else echo 'HAVE_$(1) :='; fi
$(B)/config.mk: $(B)/knobs Makefile
	@$(if $(filter demo check check-fast bench backtest,$(GOALS)),tests/deps.sh)
	@: >$(B)/config.log; { \
	$(call try,GSL,yes,#include <gsl/gsl_version.h>\n#include <gsl/gsl_math.h>\nint main(void){return gsl_isnan(0.0);}\n,$(GSL_LIBS)) && \
	$(call try,CJSON,yes,#include <cjson/cJSON.h>\nint main(void){return cJSON_Version()==0;}\n,$(CJSON_LIBS)) && \
	$(call try,SQLITE,yes,#include <sqlite3.h>\nint main(void){return sqlite3_libversion_number()==0;}\n,$(SQLITE_LIBS)) && \
	$(call try,CUDA,$(CUDA),#include <cuda_runtime_api.h>\nint main(void){int n;return cudaGetDeviceCount(&n);}\n,-I$(CUDA_HOME)/include $(CUDA_LIBS)); } >$@.tmp && mv $@.tmp $@
	@sed -n 's/HAVE_\(.*\) := 1/  with \1/p; s/HAVE_\(.*\) :=$$/  without \1/p' $@ >&2

$(B)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALL_NVCCFLAGS)' | cmp -s - $@ || \
	echo '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALL_NVCCFLAGS)' >$@

# --- Sources: every file of a folder; CUDA files where there is CUDA -----------------------------
MODEL_SRC   := $(sort $(wildcard model/*.c))
TRACES_SRC  := $(sort $(wildcard traces/*.c))
PLOTS_SRC   := $(sort $(wildcard plots/*.c))
MEASURE_SRC := $(filter-out measure/cuda_%.c measure/nccl_%.c,$(sort $(wildcard measure/*.c)))
ifdef HAVE_CUDA
MEASURE_SRC += $(sort $(wildcard measure/cuda_*.c) $(wildcard measure/nccl_*.c))
KERNEL_SRC  := $(sort $(wildcard kernels/*.cu))
endif
LIB_SRC := $(MODEL_SRC) $(TRACES_SRC) $(PLOTS_SRC) $(MEASURE_SRC)
# What measure/ compiles depends on what there is.
$(MEASURE_SRC:%.c=$(B)/%.o): $(B)/knobs
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(KERNEL_SRC:%.cu=$(B)/%.cu.o)
LIBS = $(CJSON_LIBS) $(SQLITE_LIBS) $(GSL_LIBS) $(if $(HAVE_CUDA),$(CUDA_LIBS)) -lpthread -lm -ldl

$(B)/measure/%.o: private PKG_CPPFLAGS += $(if $(HAVE_CUDA),-DHAVE_CUDA -isystem $(CUDA_HOME)/include)
$(B)/plots/%.o $(B)/traces/%.o: private PKG_CPPFLAGS += -DDATADIR='"$(DATADIR)"'

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
$(B)/%.cu.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(ALL_NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(B)/libupdraft.a: $(LIB_OBJ) $(B)/config.mk
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
$(B)/updraft: $(B)/updraft.o $(B)/libupdraft.a
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(B)/updraft.o $(B)/libupdraft.a $(LIBS)

# --- Tests ---------------------------------------------------------------------------------------
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/tests/unit/%)
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/tests/fuzz/%)
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/libupdraft.a
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(B)/libupdraft.a $(LIBS) -lcmocka
# evaluate() and what it needs, for whoever embeds it: no GSL.
EMBED_OBJ := $(patsubst %,$(B)/model/%.o,err cost scenario acceptance draw evaluate)
$(B)/tests/unit/test_embed: $(B)/tests/unit/test_embed.o $(EMBED_OBJ)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lm -lcmocka
# Programs that need a GPU: checks (`make check-gpu`) and timings (`make bench-gpu`).
GPU_SRC := $(if $(HAVE_CUDA),$(sort $(wildcard tests/gpu/*.c)))
GPU_BIN := $(GPU_SRC:tests/gpu/%.c=$(B)/tests/gpu/%)
$(B)/tests/gpu/%.o: private PKG_CPPFLAGS += -DHAVE_CUDA -isystem $(CUDA_HOME)/include
$(B)/tests/gpu/%: $(B)/tests/gpu/%.o $(B)/libupdraft.a
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(B)/libupdraft.a $(LIBS)
# A fuzz target is linked with a main that replays its corpus, so any compiler runs it.
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/tests/replay.o $(B)/libupdraft.a
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(B)/tests/replay.o $(B)/libupdraft.a $(LIBS)

BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(B)/tests/bench/%)
$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/libupdraft.a
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(B)/libupdraft.a $(LIBS)

.PHONY: check check-fast check-gpu bench-gpu check-cli check-static deps demo bench backtest install clean help format coverage FORCE
check: $(B)/updraft $(UNIT_BIN) $(FUZZ_BIN) ## pass the tests (installs what is missing)
	@B=$(B) tests/run all
check-fast: $(B)/updraft $(UNIT_BIN) $(FUZZ_BIN) ## the tests that take seconds
	@B=$(B) tests/run fast
demo: $(B)/updraft ## the main job on shipped recordings; pictures in build/demo
	@B=$(B) docs/demo.sh
check-gpu: $(B)/updraft $(GPU_BIN) ## check the kernels and NCCL on this machine's GPUs (exit 77: none)
	@$(if $(HAVE_CUDA),$(B)/tests/gpu/check_kernels $(CHECK_GPU) && \
	{ UPDRAFT=$(B)/updraft bash tests/gpu/nccl.sh || [ $$? = 77 ]; },echo "this build has no CUDA"; exit 77)
bench-gpu: $(GPU_BIN) ## time the kernels over their grids, and the probes
	@$(if $(HAVE_CUDA),$(B)/tests/gpu/bench_kernels && $(B)/tests/gpu/bench_probes,echo "this build has no CUDA"; exit 77)
readme: demo ## the README's tables and pictures, from the demo
	@mkdir -p docs/img && cp $(B)/demo/rank_top.png $(B)/demo/draft.png docs/img/
	@python3 tests/readme.py $(B)/updraft README.md --write
golden: $(B)/updraft ## rewrite the expected outputs of tests/cli
	@B=$(B) REWRITE=1 tests/run cli
bench: $(B)/updraft $(BENCH_BIN) ## report the speed of what should be fast
	@for t in $(BENCH_BIN); do $$t || exit 1; done; \
	for t in $(sort $(wildcard tests/bench/*.sh)); do UPDRAFT=$(CURDIR)/$(B)/updraft B=$(B) TOP=$(CURDIR) bash $$t || exit 1; done
backtest: $(B)/updraft ## compare the predictor's errors on traces/reference with results.csv (REWRITE=1 writes it)
	@UPDRAFT=$(B)/updraft tests/backtest.sh
deps: ## install the packages that are missing
	@tests/deps.sh
format: ## format the C sources
	clang-format -i *.c $(foreach d,model traces measure plots kernels tests tests/unit tests/fuzz bench,$(wildcard $(d)/*.[ch]))
check-static: ## clang-tidy over everything
	@tests/tidy.sh
install: $(B)/updraft ## install under $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MAN1DIR) $(DESTDIR)$(DATADIR)/traces $(DESTDIR)$(DATADIR)/plots
	install -m 755 $(B)/updraft $(DESTDIR)$(BINDIR)/updraft
	install -m 644 docs/updraft.1 $(DESTDIR)$(MAN1DIR)/updraft.1
	cp -R $(wildcard traces/scenarios traces/recorded traces/reference traces/*.json) $(DESTDIR)$(DATADIR)/traces/
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 644 docs/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/updraft
	install -m 644 $(wildcard plots/*.gp) $(DESTDIR)$(DATADIR)/plots/
coverage: ## line coverage of the tests, with gcov
	$(MAKE) COVERAGE=1 check
	@for d in model traces plots measure; do gcov -n -o build-cov/$$d $$d/*.c; done 2>/dev/null | grep -A1 "^File '[a-z]*/" | paste - - - | sed "s/File '//; s/'//; s/Lines executed://"
clean: ## remove everything built
	rm -rf build build-*
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

-include $(wildcard $(B)/*.d $(B)/*/*.d $(B)/*/*/*.d)
