# SPDX-License-Identifier: Apache-2.0
# calf: a small cluster file system and the tester that measures what containers cost it. `make help` lists the targets.

MODE ?= release
CC ?= gcc
OUT := build/$(MODE)

# For packagers: what they set is added, never replaced.
CFLAGS ?=
LDFLAGS ?=
PREFIX ?= /usr/local
DESTDIR ?=

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
DEFINES := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=314
BASE_CFLAGS = -std=gnu11 -g -pthread -I. $(WARNINGS) $(DEFINES)
BASE_LDFLAGS := -pthread

ifeq ($(MODE),release)
  MODE_CFLAGS := -O2
  # The same bytes run on the host and in the image that is built from nothing, so the programs are static.
  MODE_LDFLAGS := -static
else ifeq ($(MODE),debug)
  MODE_CFLAGS := -O0 -fno-omit-frame-pointer
else ifeq ($(MODE),asan)
  MODE_CFLAGS := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
  MODE_LDFLAGS := -fsanitize=address,undefined
else ifeq ($(MODE),tsan)
  MODE_CFLAGS := -O1 -fno-omit-frame-pointer -fsanitize=thread
  MODE_LDFLAGS := -fsanitize=thread
else ifeq ($(MODE),fuzz)
  # libFuzzer comes with clang only.
  CC := clang
  MODE_CFLAGS := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
  MODE_LDFLAGS := -fsanitize=address,undefined
else ifeq ($(MODE),cov)
  # Threads count together.
  MODE_CFLAGS := -O0 --coverage -fprofile-update=atomic
  MODE_LDFLAGS := --coverage
else
  $(error MODE is release, debug, asan, tsan, fuzz or cov, not '$(MODE)')
endif

ALL_CFLAGS = $(BASE_CFLAGS) $(MODE_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(BASE_LDFLAGS) $(MODE_LDFLAGS) $(LDFLAGS)

ifeq ($(V),1)
  Q :=
  say = @:
else
  Q := @
  say = @printf '  %-7s %s\n'
endif

FOLDERS := common master chunkserver client iobench
# A file named *_main.c is a program's front; all the rest of its folder is an archive that the tests link too.
sources = $(filter-out $(wildcard $(1)/*_main.c),$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(OUT)/%.o,$(1))
archive = $(OUT)/lib$(1).a

comma := ,

LIBS_NNG := -lnng -lmbedtls -lmbedx509 -lmbedcrypto
LIBS_COMMON := $(LIBS_NNG) -lxxhash
LIBS_FUSE := $(shell pkg-config --libs fuse3 2>/dev/null || echo -lfuse3) -ldl -l:liburing.a
LIBS_iobench := -laio -ljansson -lm

PROGRAMS := calf-master calf-chunkserver calf-mount calf iobench
BINARIES := $(addprefix $(OUT)/bin/,$(PROGRAMS))

.PHONY: all
all: $(BINARIES) ## build the programs into build/$(MODE)/bin (MODE=release|debug|asan|tsan|cov)

# Only this file is for newer processors than the rest; checksum.c asks before it calls it.
ifeq ($(shell uname -m),x86_64)
  $(OUT)/common/checksum_avx2.o: MODE_CFLAGS += -mavx2
endif

$(foreach f,$(FOLDERS),$(eval $(call archive,$(f)): $(call objects,$(call sources,$(f)))))
$(OUT)/lib%.a:
	$(say) AR $@
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

define link
@mkdir -p $(@D)
$(say) LINK $@
$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(1) $(LIBS_COMMON) 2>$@.warnings; \
	status=$$?; grep -v -e getaddrinfo -e dlopen -e 'in function' $@.warnings >&2; rm -f $@.warnings; exit $$status
$(Q)$(strip_program)
endef

# What runs on the host and in the image carries no symbols; the whole program stays in $(OUT)/debug for gdb and perf.
STRIP ?= strip
ifeq ($(MODE),release)
  strip_program = mkdir -p $(OUT)/debug && mv $@ $(OUT)/debug/$(@F) && $(STRIP) -o $@ $(OUT)/debug/$(@F)
else
  strip_program = true
endif

$(OUT)/bin/calf-master: $(OUT)/master/master_main.o $(call archive,master) $(call archive,common)
	$(call link)
$(OUT)/bin/calf-chunkserver: $(OUT)/chunkserver/chunkserver_main.o $(call archive,chunkserver) $(call archive,common)
	$(call link,-laio)
$(OUT)/bin/calf-mount: $(OUT)/client/mount_main.o $(call archive,client) $(call archive,common)
	$(call link,$(LIBS_FUSE))
$(OUT)/bin/calf: $(OUT)/client/admin_main.o $(call archive,client) $(call archive,common)
	$(call link,-ljansson)
$(OUT)/bin/iobench: $(OUT)/iobench/iobench_main.o $(call archive,iobench) $(call archive,client) $(call archive,common)
	$(call link,$(LIBS_iobench))

# The version string changes with each commit; only the file that prints it is compiled again.
VERSION := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
$(OUT)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' >$@
$(OUT)/common/options.o: $(OUT)/version
$(OUT)/common/options.o: DEFINES += -DCALF_VERSION='"0.1 (commit $(VERSION))"'
.PHONY: FORCE

# The chart library of reports, from Debian's libjs-chart.js; another place can be named. It is taken into iobench as it is.
CHART_JS ?= /usr/share/javascript/chart.js/chart.min.js
$(CHART_JS):
	$(error there is no $@: install libjs-chart.js (sudo make setup), or give CHART_JS=PATH of a chart.min.js of Chart.js 3 or 4)
$(OUT)/iobench/report_assets.o: DEFINES += -DREPORT_CHART_JS='"$(CHART_JS)"'
$(OUT)/iobench/report_assets.o: $(CHART_JS) $(wildcard iobench/report*.js iobench/report*.css iobench/report*.html)

$(OUT)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Unit tests: one program a file, linked with the very archives the programs link.
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_PROGRAMS := $(patsubst tests/unit/%.c,$(OUT)/tests/%,$(UNIT_SOURCES))
UNIT_MODE_LDFLAGS := $(filter-out -static,$(MODE_LDFLAGS))
$(OUT)/tests/%: $(OUT)/tests/unit/%.o $(foreach f,iobench client chunkserver master common,$(call archive,$(f)))
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(BASE_LDFLAGS) $(UNIT_MODE_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_FUSE) $(LIBS_iobench) $(LIBS_COMMON)
.SECONDARY:

.PHONY: unit
unit: $(UNIT_PROGRAMS) ## build and run the unit tests (MODE applies)
	$(Q)tests/run-unit.sh $(UNIT_PROGRAMS)

# Fuzz targets: one libFuzzer program a file, linked with the very archives the programs link.
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_PROGRAMS := $(patsubst tests/fuzz/%.c,build/fuzz/tests/%,$(FUZZ_SOURCES))
ifeq ($(MODE),fuzz)
$(OUT)/tests/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.o $(foreach f,iobench client chunkserver master common,$(call archive,$(f)))
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(BASE_LDFLAGS) $(MODE_LDFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS_FUSE) $(LIBS_iobench) $(LIBS_COMMON)
.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_PROGRAMS)
endif

.PHONY: fuzz
fuzz: ## build the fuzz targets and run each for FUZZ_SECONDS (default 60)
	$(Q)$(MAKE) --no-print-directory MODE=fuzz fuzz-programs
	$(Q)tests/run-fuzz.sh $(FUZZ_PROGRAMS)

.PHONY: setup
setup: ## install what building and testing need (Debian; root)
	$(Q)tests/setup.sh

.PHONY: check
check: setup ## all set-up, then every test of the suite (root)
	$(Q)tests/check.sh

.PHONY: demo
demo: ## all set-up, then the main job: a quick sweep of four deployments and the percentage table (root)
	$(Q)docker/demo.sh

.PHONY: coverage
coverage: ## what the tests reach, by file, and which error branches they do not: build/coverage/summary.txt (root; half an hour)
	$(Q)tests/coverage.sh

.PHONY: integration-sanitized
integration-sanitized: ## the host scripts with address and undefined sanitizers, the most concurrent also with that for threads (root; ARGS)
	$(Q)tests/integration/sanitized.sh $(ARGS)

.PHONY: bench-fio-peers
bench-fio-peers: $(BINARIES) ## calf against MooseFS (Debian's) with the same fio jobs, interleaved, in one table (root)
	$(Q)tests/bench/fio-peers.sh

.PHONY: bench-peers
bench-peers: $(BINARIES) $(OUT)/bin/bound-fs ## calf, MooseFS (Debian's) and the bounds of FUSE and of a socket in one table (root; ARGS)
	$(Q)tests/bench/peers.sh $(ARGS)

.PHONY: cycles
cycles: $(BINARIES) ## 20 times up and down of every scenario: nothing may be left (root, minutes)
	$(Q)CYCLES=20 SCENARIOS="$$(docker/cluster.sh scenarios | tr '\n' ' ')" tests/integration/run.sh 66

.PHONY: campaign
campaign: $(BINARIES) ## the long tests, hours; goes on where it was interrupted (root; tests/campaign/campaign.sh)
	$(Q)tests/campaign/campaign.sh

.PHONY: bench-article
bench-article: $(BINARIES) ## the article's question on this machine, four deployments, about half an hour (root; ARGS='--dry-run --minutes N')
	$(Q)tests/bench/article.sh $(ARGS)

.PHONY: bench-article-setup
bench-article-setup: $(BINARIES) ## the article's own set-up: seven chunkservers, published ports, the client on the host (root; ARGS)
	$(Q)tests/bench/article.sh --published $(ARGS)

.PHONY: bench-aa
bench-aa: $(BINARIES) ## no difference is found where there is none, and one that is there is: two equal clusters, a quarter of an hour (root; ARGS)
	$(Q)tests/bench/aa.sh $(ARGS)

.PHONY: bench-tester
bench-tester: $(BINARIES) ## iobench against fio and IOzone on tmpfs, ext4 and calf, interleaved; goes on where it was (root)
	$(Q)tests/bench/tester.sh

.PHONY: lint
lint: ## includes that point upward, owners of third-party headers, lengths, stale protocol document, shellcheck
	$(Q)tests/lint.sh

# The model test's program runs on any file system.
MODEL_OBJECTS := $(call objects,$(wildcard tests/model/*.c))
$(OUT)/bin/model: $(MODEL_OBJECTS) $(call archive,common)
	$(call link)

# The simulation: the same archives, with the calls to the outside (tests/sim/wrapped.txt) replaced by the linker.
SIM_SOURCES := $(wildcard tests/sim/*.c)
SIM_WRAPPED := $(shell cat tests/sim/wrapped.txt)
$(OUT)/bin/sim: $(patsubst %.c,$(OUT)/%.o,$(SIM_SOURCES)) $(foreach f,client chunkserver master common,$(call archive,$(f)))
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(BASE_LDFLAGS) $(UNIT_MODE_LDFLAGS) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(SIM_WRAPPED)) \
		-o $@ $^ -laio $(LIBS_COMMON)

# The bounds of what FUSE allows, for bench-peers.
$(OUT)/bin/bound-fs: $(OUT)/tests/bench/bound_fs.o $(call archive,common)
	$(call link,$(LIBS_FUSE))

SEEDS ?= 1000
FIRST ?= 1
.PHONY: sim
sim: $(OUT)/bin/sim ## the simulated cluster, SEEDS=1000 runs from seed FIRST=1
	$(Q)$< --first $(FIRST) --seeds $(SEEDS)

$(OUT)/bin/wire-doc: $(OUT)/tests/tools/wire_doc.o $(call archive,common)
	$(call link)

$(OUT)/bin/synthetic-result: $(OUT)/tests/tools/synthetic_result.o $(call archive,iobench) $(call archive,common)
	$(call link,$(LIBS_iobench))

.PHONY: protocol
protocol: $(OUT)/bin/wire-doc ## write docs/protocol.md anew from the wire schema
	$(Q)$(OUT)/bin/wire-doc >docs/protocol.md

.PHONY: install
install: $(BINARIES) ## install the programs and the manual page under $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BINARIES) $(DESTDIR)$(PREFIX)/bin
	install -m 644 docs/iobench.1 $(DESTDIR)$(PREFIX)/share/man/man1

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
