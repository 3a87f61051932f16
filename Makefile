# Every target does its own set-up in .venv; a fresh machine needs Python 3.11 or later, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INPUTS := pyproject.toml mlspec/__init__.py

TIER ?= argocd
DEMO := $(VENV)/demo
AUTHOR := -c commit.gpgsign=false -c user.name=demo -c user.email=demo@example.com

.PHONY: help demo run test test-slow test-all cluster cluster-test tools bench schemas format clean

help: ## show the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | sort

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mlspec needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(INPUTS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[kustomize]'
	@touch $@

# torch is five gigabytes: uv installs it in a fraction of pip's time, and shares the files between environments.
$(BIN)/uv: | $(BIN)/python
	$(BIN)/python -m pip install --quiet 'uv>=0.5,<1'

$(VENV)/.train: $(INPUTS) | $(BIN)/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[kustomize,train]'
	@touch $@ $(VENV)/.demo

$(VENV)/.test: $(INPUTS) | $(BIN)/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[kustomize,test,train]'
	@touch $@ $(VENV)/.train $(VENV)/.demo

demo: $(VENV)/.demo ## install, generate and check the living example, show what to open, and the diff of an edit
	$(BIN)/mlspec generate
	$(BIN)/mlspec check
	@echo
	@echo "Now open:"
	@echo "  mlproject.yaml                                       what a person wrote"
	@echo "  generated/image-classifier/overlays/prod/            what Argo CD syncs to prod"
	@echo "  generated/argocd/prod/image-classifier.yaml          what tells it to"
	@echo
	@echo "What a reviewer is told of one changed line ('epochs: 10' is 'epochs: 20' now), in a copy of the example:"
	@rm -rf $(DEMO) && mkdir -p $(DEMO) && cp -R environments generated mlproject.yaml $(DEMO) && mkdir $(DEMO)/mlspec && cp -R mlspec/training $(DEMO)/mlspec
	@git -C $(DEMO) init --quiet && git -C $(DEMO) add . && git -C $(DEMO) $(AUTHOR) commit --quiet --message before
	@sed 's/epochs: 10/epochs: 20/' mlproject.yaml > $(DEMO)/mlproject.yaml
	@$(BIN)/mlspec --root $(DEMO) diff || test $$? -eq 1
	@echo
	@echo "Try it: change a line of mlproject.yaml, then  $(BIN)/mlspec diff  and  $(BIN)/mlspec generate"
	@echo
	@echo "Train it here, as the cluster would, on scikit-learn's digits, offline:"
	@echo "  make run      installs torch once (5 GB), then calls  $(BIN)/mlspec run -e dev"

run: $(VENV)/.train ## install torch, then preprocess, train and evaluate the living example on this computer
	$(BIN)/mlspec run -e dev

tools: $(VENV)/.demo ## build the programs that tests ask (kustomize, kubeconform, kube-score, checkov, …), pinned, outside the repository
	@$(BIN)/python -m tests.tools.build
	@$(BIN)/python -m tests.tools.python_tools
	@$(BIN)/python -m tests.tools.busybox
	@$(BIN)/python -m tests.tools.pod_security

test: $(VENV)/.test tools ## what CI runs, but for what takes minutes and a real cluster
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --numprocesses 2
	$(BIN)/mlspec generate --check
	$(BIN)/mlspec check

test-slow: $(VENV)/.test ## the trainings that take minutes: kills, stops and restarts of several processes
	$(BIN)/python -m pytest --numprocesses 2 -m slow

test-all: test test-slow ## both

cluster: $(VENV)/.test ## start a real cluster and leave it up: TIER=api, operators or argocd (the default)
	@$(BIN)/python -m tests.cluster $(TIER)

cluster-test: $(VENV)/.test ## let a real API server, the real operators and Argo CD judge every golden; TIER=... for one
	@$(BIN)/python -m tests.cluster build
	$(BIN)/python -m pytest tests/cluster -m $(if $(filter file,$(origin TIER)),'api or operators or argocd',$(TIER))

bench: $(VENV)/.test ## measure 1, 100 and 1,000 projects, and the plain program beside them
	$(BIN)/python -m tests.benchmarks.bench

schemas: $(VENV)/.demo ## build schemas/ again from the pinned packages (needs Go)
	$(BIN)/python schemas/refresh.py
	$(BIN)/mlspec schema project > schemas/mlproject.schema.json
	$(BIN)/mlspec schema environment > schemas/environment.schema.json
	$(BIN)/mlspec explain --reference > docs/spec.md

format: $(VENV)/.test ## format and fix what can be fixed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
