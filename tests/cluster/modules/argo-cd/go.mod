module mlspec.dev/cluster/argo-cd

go 1.26.3

require (
	cloud.google.com/go v0.120.0
	cloud.google.com/go/auth v0.15.0
	cloud.google.com/go/auth/oauth2adapt v0.2.7
	cloud.google.com/go/compute/metadata v0.9.0
	cloud.google.com/go/iam v1.4.2
	cloud.google.com/go/pubsub v1.49.0
	code.gitea.io/sdk/gitea v0.25.1
	cyphar.com/go-pathrs v0.2.2
	dario.cat/mergo v1.0.2
	github.com/42wim/httpsig v1.2.4
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.22.0
	github.com/Azure/azure-sdk-for-go/sdk/azidentity v1.14.0
	github.com/Azure/azure-sdk-for-go/sdk/azidentity/cache v0.4.0
	github.com/Azure/azure-sdk-for-go/sdk/internal v1.12.0
	github.com/Azure/go-ansiterm v0.0.0-20250102033503-faa5f7b0171c
	github.com/Azure/go-autorest v14.2.0+incompatible
	github.com/Azure/go-autorest/autorest v0.11.29
	github.com/Azure/go-autorest/autorest/adal v0.9.23
	github.com/Azure/go-autorest/autorest/date v0.3.0
	github.com/Azure/go-autorest/logger v0.2.1
	github.com/Azure/go-autorest/tracing v0.6.0
	github.com/Azure/kubelogin v0.2.18
	github.com/AzureAD/microsoft-authentication-extensions-for-go/cache v0.1.1
	github.com/AzureAD/microsoft-authentication-library-for-go v1.7.2
	github.com/MakeNowJust/heredoc v1.0.0
	github.com/Masterminds/goutils v1.1.1
	github.com/Masterminds/semver/v3 v3.4.0
	github.com/Masterminds/sprig/v3 v3.3.0
	github.com/Microsoft/go-winio v0.6.2
	github.com/OvyFlash/telegram-bot-api v0.0.0-20241219171906-3f2ca0c14ada
	github.com/PagerDuty/go-pagerduty v1.8.0
	github.com/ProtonMail/go-crypto v1.1.6
	github.com/RocketChat/Rocket.Chat.Go.SDK v0.0.0-20240116134246-a8cbe886bab0
	github.com/TomOnTime/utfutil v1.0.0
	github.com/alicebob/miniredis/v2 v2.38.0
	github.com/argoproj/argo-cd/gitops-engine v0.7.1-0.20250908182407-97ad5b59a627
	github.com/argoproj/argo-cd/v3 v3.5.1
	github.com/argoproj/notifications-engine v0.5.1-0.20260503100631-0cff13b8a717
	github.com/argoproj/pkg/v2 v2.0.1
	github.com/aws/aws-sdk-go-v2 v1.42.0
	github.com/aws/aws-sdk-go-v2/config v1.32.25
	github.com/aws/aws-sdk-go-v2/credentials v1.19.24
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.18.29
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.4.29
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.7.29
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.4.30
	github.com/aws/aws-sdk-go-v2/service/codecommit v1.34.4
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.12
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.13.29
	github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi v1.33.3
	github.com/aws/aws-sdk-go-v2/service/signin v1.2.0
	github.com/aws/aws-sdk-go-v2/service/sqs v1.38.1
	github.com/aws/aws-sdk-go-v2/service/sso v1.31.3
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.36.6
	github.com/aws/aws-sdk-go-v2/service/sts v1.43.3
	github.com/aws/smithy-go v1.27.2
	github.com/beorn7/perks v1.0.1
	github.com/blang/semver/v4 v4.0.0
	github.com/bmatcuk/doublestar/v4 v4.10.0
	github.com/bombsimon/logrusr/v4 v4.1.0
	github.com/bradleyfalzon/ghinstallation/v2 v2.19.0
	github.com/casbin/casbin/v2 v2.135.0
	github.com/casbin/govaluate v1.10.0
	github.com/cenkalti/backoff/v4 v4.3.0
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/chai2010/gettext-go v1.0.3
	github.com/chainguard-dev/git-urls v1.0.2
	github.com/clipperhouse/displaywidth v0.10.0
	github.com/clipperhouse/uax29/v2 v2.6.0
	github.com/cloudflare/circl v1.6.3
	github.com/coreos/go-oidc/v3 v3.18.0
	github.com/cpuguy83/go-md2man/v2 v2.0.6
	github.com/cyphar/filepath-securejoin v0.6.1
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc
	github.com/davidmz/go-pageant v1.0.2
	github.com/desertbit/timer v1.0.1
	github.com/distribution/reference v0.6.0
	github.com/dlclark/regexp2 v1.12.0
	github.com/dustin/go-humanize v1.0.1
	github.com/emicklei/go-restful/v3 v3.13.0
	github.com/emirpasic/gods v1.18.1
	github.com/evanphx/json-patch v5.9.11+incompatible
	github.com/evanphx/json-patch/v5 v5.9.11
	github.com/exponent-io/jsonpath v0.0.0-20210407135951-1de76d718b3f
	github.com/expr-lang/expr v1.17.8
	github.com/fatih/camelcase v1.0.0
	github.com/fatih/color v1.18.0
	github.com/felixge/httpsnoop v1.1.0
	github.com/fsnotify/fsnotify v1.10.1
	github.com/fxamacker/cbor/v2 v2.9.0
	github.com/gfleury/go-bitbucket-v1 v0.0.0-20240917142304-df385efaac68
	github.com/ghodss/yaml v1.0.0
	github.com/go-errors/errors v1.5.1
	github.com/go-fed/httpsig v1.1.0
	github.com/go-git/gcfg v1.5.1-0.20230307220236-3a3c6141e376
	github.com/go-git/go-billy/v5 v5.9.0
	github.com/go-git/go-git/v5 v5.19.1
	github.com/go-jose/go-jose/v3 v3.0.5
	github.com/go-jose/go-jose/v4 v4.1.4
	github.com/go-logr/logr v1.4.3
	github.com/go-logr/stdr v1.2.2
	github.com/go-openapi/analysis v0.25.2
	github.com/go-openapi/errors v0.22.8
	github.com/go-openapi/jsonpointer v0.23.1
	github.com/go-openapi/jsonreference v0.21.6
	github.com/go-openapi/loads v0.24.0
	github.com/go-openapi/runtime/server-middleware v0.32.3
	github.com/go-openapi/spec v0.22.5
	github.com/go-openapi/strfmt v0.26.3
	github.com/go-openapi/swag v0.23.1
	github.com/go-openapi/swag/conv v0.26.1
	github.com/go-openapi/swag/jsonname v0.26.1
	github.com/go-openapi/swag/jsonutils v0.26.1
	github.com/go-openapi/swag/loading v0.26.1
	github.com/go-openapi/swag/mangling v0.26.1
	github.com/go-openapi/swag/stringutils v0.26.1
	github.com/go-openapi/swag/typeutils v0.26.1
	github.com/go-openapi/swag/yamlutils v0.26.1
	github.com/go-playground/webhooks/v6 v6.4.0
	github.com/go-redis/cache/v9 v9.0.0
	github.com/go-viper/mapstructure/v2 v2.5.0
	github.com/gobwas/glob v0.2.3
	github.com/gobwas/ws v1.2.1
	github.com/gogits/go-gogs-client v0.0.0-20210131175652-1d7215cd8d85
	github.com/gogo/protobuf v1.3.2
	github.com/golang-jwt/jwt/v4 v4.5.2
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/golang/glog v1.2.5
	github.com/golang/groupcache v0.0.0-20241129210726-2c02b8208cf8
	github.com/golang/protobuf v1.5.4
	github.com/google/btree v1.1.3
	github.com/google/gnostic-models v0.7.0
	github.com/google/go-cmp v0.7.0
	github.com/google/go-github/v69 v69.2.0
	github.com/google/go-github/v88 v88.0.0
	github.com/google/go-jsonnet v0.22.0
	github.com/google/go-querystring v1.2.0
	github.com/google/s2a-go v0.1.9
	github.com/google/shlex v0.0.0-20191202100458-e7afc7fbc510
	github.com/google/uuid v1.6.1-0.20241114170450-2d3c2a9cc518
	github.com/googleapis/enterprise-certificate-proxy v0.3.6
	github.com/googleapis/gax-go/v2 v2.14.1
	github.com/gorilla/handlers v1.5.2
	github.com/gorilla/websocket v1.5.4-0.20250319132907-e064f32e3674
	github.com/gosimple/slug v1.15.0
	github.com/gosimple/unidecode v1.0.1
	github.com/gregdel/pushover v1.3.1
	github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus v1.1.0
	github.com/grpc-ecosystem/go-grpc-middleware/v2 v2.3.3
	github.com/grpc-ecosystem/grpc-gateway v1.16.0
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0
	github.com/hashicorp/go-cleanhttp v0.5.2
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/hashicorp/go-version v1.9.0
	github.com/huandu/xstrings v1.5.0
	github.com/improbable-eng/grpc-web v0.15.1-0.20230209220825-1d9bbb09a099
	github.com/inconshreveable/mousetrap v1.1.0
	github.com/itchyny/gojq v0.12.19
	github.com/itchyny/timefmt-go v0.1.8
	github.com/jarcoal/httpmock v1.4.1
	github.com/jbenet/go-context v0.0.0-20150711004518-d14ea06fba99
	github.com/jeremywohl/flatten v1.0.2-0.20211013061545-07e4a09fb8e4
	github.com/jonboulle/clockwork v0.5.0
	github.com/josharian/intern v1.0.0
	github.com/json-iterator/go v1.1.12
	github.com/kballard/go-shellquote v0.0.0-20180428030007-95032a82bc51
	github.com/kevinburke/ssh_config v1.2.0
	github.com/keybase/go-keychain v0.0.1
	github.com/klauspost/compress v1.18.0
	github.com/klauspost/cpuid/v2 v2.3.0
	github.com/ktrysmt/go-bitbucket v0.10.0
	github.com/kylelemons/godebug v1.1.0
	github.com/liggitt/tabwriter v0.0.0-20181228230101-89fcab3d43de
	github.com/mailru/easyjson v0.9.0
	github.com/mattn/go-colorable v0.1.14
	github.com/mattn/go-isatty v0.0.22
	github.com/mattn/go-runewidth v0.0.19
	github.com/mattn/go-zglob v0.0.6
	github.com/microsoft/azure-devops-go-api/azuredevops/v7 v7.1.1-0.20241014080628-3045bdf43455
	github.com/minio/blake2b-simd v0.0.0-20160723061019-3f5f724cb5b1
	github.com/mitchellh/copystructure v1.2.0
	github.com/mitchellh/go-wordwrap v1.0.1
	github.com/mitchellh/mapstructure v1.5.0
	github.com/mitchellh/reflectwalk v1.0.2
	github.com/moby/spdystream v0.5.1
	github.com/moby/term v0.5.2
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd
	github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee
	github.com/monochromegane/go-gitignore v0.0.0-20200626010858-205db1a8cc00
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822
	github.com/nats-io/nats.go v1.43.0
	github.com/nats-io/nkeys v0.4.11
	github.com/nats-io/nuid v1.0.1
	github.com/oauth2-proxy/mockoidc v0.0.0-20240214162133-caebfff84d25
	github.com/oklog/ulid/v2 v2.1.1
	github.com/olekukonko/cat v0.0.0-20250911104152-50322a0618f6
	github.com/olekukonko/errors v1.2.0
	github.com/olekukonko/ll v0.1.6
	github.com/olekukonko/tablewriter v1.1.4
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	github.com/opsgenie/opsgenie-go-sdk-v2 v1.2.23
	github.com/patrickmn/go-cache v2.1.1-0.20191004192108-46f407853014+incompatible
	github.com/peterbourgon/diskv v2.0.1+incompatible
	github.com/pjbgf/sha1cd v0.6.0
	github.com/pkg/browser v0.0.0-20240102092130-5ac0b6a4141c
	github.com/pkg/errors v0.9.1
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2
	github.com/prometheus/client_golang v1.23.2
	github.com/prometheus/client_model v0.6.2
	github.com/prometheus/common v0.67.5
	github.com/prometheus/procfs v0.19.2
	github.com/r3labs/diff/v3 v3.0.2
	github.com/redis/go-redis/v9 v9.20.1
	github.com/robfig/cron/v3 v3.0.2-0.20210106135023-bc59245fe10e
	github.com/rs/cors v1.11.1
	github.com/russross/blackfriday/v2 v2.1.0
	github.com/sergi/go-diff v1.4.0
	github.com/shopspring/decimal v1.4.0
	github.com/sirupsen/logrus v1.9.4
	github.com/skeema/knownhosts v1.3.2
	github.com/skratchdot/open-golang v0.0.0-20200116055534-eef842397966
	github.com/slack-go/slack v0.16.0
	github.com/soheilhy/cmux v0.1.5
	github.com/spf13/cast v1.7.1
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.10
	github.com/stretchr/objx v0.5.2
	github.com/stretchr/testify v1.11.1
	github.com/valyala/bytebufferpool v1.0.0
	github.com/valyala/fasttemplate v1.2.2
	github.com/vmihailenco/go-tinylfu v0.2.2
	github.com/vmihailenco/msgpack/v5 v5.4.1
	github.com/vmihailenco/tagparser/v2 v2.0.0
	github.com/x448/float16 v0.8.4
	github.com/xanzy/ssh-agent v0.3.3
	github.com/xlab/treeprint v1.2.0
	github.com/yuin/gopher-lua v1.1.2
	gitlab.com/gitlab-org/api/client-go v1.46.0
	go.opencensus.io v0.24.0
	go.opentelemetry.io/auto/sdk v1.2.1
	go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc v0.69.0
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.69.0
	go.opentelemetry.io/otel v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.44.0
	go.opentelemetry.io/otel/metric v1.44.0
	go.opentelemetry.io/otel/sdk v1.44.0
	go.opentelemetry.io/otel/trace v1.44.0
	go.opentelemetry.io/proto/otlp v1.10.0
	go.uber.org/atomic v1.11.0
	go.yaml.in/yaml/v2 v2.4.3
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/crypto v0.53.0
	golang.org/x/mod v0.36.0
	golang.org/x/net v0.56.0
	golang.org/x/oauth2 v0.36.0
	golang.org/x/sync v0.21.0
	golang.org/x/sys v0.46.0
	golang.org/x/term v0.44.0
	golang.org/x/text v0.38.0
	golang.org/x/time v0.15.0
	golang.org/x/tools v0.45.0
	gomodules.xyz/envconfig v1.3.1-0.20190308184047-426f31af0d45
	gomodules.xyz/jsonpatch/v2 v2.4.0
	gomodules.xyz/notify v0.1.1
	google.golang.org/api v0.227.0
	google.golang.org/genproto v0.0.0-20250303144028-a0af3efb3deb
	google.golang.org/genproto/googleapis/api v0.0.0-20260526163538-3dc84a4a5aaa
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa
	google.golang.org/grpc v1.81.1
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af
	gopkg.in/alexcesaro/quotedprintable.v3 v3.0.0-20150716171945-2caba252f4dc
	gopkg.in/evanphx/json-patch.v4 v4.13.0
	gopkg.in/gomail.v2 v2.0.0-20160411212932-81ebce5c23df
	gopkg.in/inf.v0 v0.9.1
	gopkg.in/warnings.v0 v0.1.2
	gopkg.in/yaml.v2 v2.4.0
	gopkg.in/yaml.v3 v3.0.1
	k8s.io/api v0.36.1
	k8s.io/apiextensions-apiserver v0.36.1
	k8s.io/apimachinery v0.36.1
	k8s.io/apiserver v0.36.1
	k8s.io/cli-runtime v0.36.1
	k8s.io/client-go v0.36.1
	k8s.io/code-generator v0.36.1
	k8s.io/component-base v0.36.1
	k8s.io/component-helpers v0.36.1
	k8s.io/controller-manager v0.36.1
	k8s.io/gengo/v2 v2.0.0-20250922181213-ec3ebc5fd46b
	k8s.io/klog/v2 v2.140.0
	k8s.io/kube-aggregator v0.36.1
	k8s.io/kube-openapi v0.0.0-20260317180543-43fb72c5454a
	k8s.io/kubectl v0.36.1
	k8s.io/kubernetes v1.36.1
	k8s.io/streaming v0.36.1
	k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2
	layeh.com/gopher-json v0.0.0-20190114024228-97fed8db8427
	nhooyr.io/websocket v1.8.7
	oras.land/oras-go/v2 v2.6.1
	sigs.k8s.io/controller-runtime v0.24.1
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730
	sigs.k8s.io/kustomize/api v0.21.1
	sigs.k8s.io/kustomize/kyaml v0.21.1
	sigs.k8s.io/randfill v1.0.0
	sigs.k8s.io/structured-merge-diff/v6 v6.4.0
	sigs.k8s.io/yaml v1.6.0
)

replace github.com/argoproj/argo-cd/gitops-engine => github.com/argoproj/argo-cd/gitops-engine v0.0.0-20260914071520-c9c369efcc5b

replace github.com/golang/protobuf => github.com/golang/protobuf v1.5.4

replace github.com/grpc-ecosystem/grpc-gateway => github.com/grpc-ecosystem/grpc-gateway v1.16.0

replace golang.org/x/tools => golang.org/x/tools v0.35.0

replace gopkg.in/yaml.v2 => gopkg.in/yaml.v2 v2.4.0

replace k8s.io/api => k8s.io/api v0.36.1

replace k8s.io/apiextensions-apiserver => k8s.io/apiextensions-apiserver v0.36.1

replace k8s.io/apimachinery => k8s.io/apimachinery v0.36.1

replace k8s.io/apiserver => k8s.io/apiserver v0.36.1

replace k8s.io/cli-runtime => k8s.io/cli-runtime v0.36.1

replace k8s.io/client-go => k8s.io/client-go v0.36.1

replace k8s.io/cloud-provider => k8s.io/cloud-provider v0.36.1

replace k8s.io/cluster-bootstrap => k8s.io/cluster-bootstrap v0.36.1

replace k8s.io/code-generator => k8s.io/code-generator v0.36.1

replace k8s.io/component-base => k8s.io/component-base v0.36.1

replace k8s.io/component-helpers => k8s.io/component-helpers v0.36.1

replace k8s.io/controller-manager => k8s.io/controller-manager v0.36.1

replace k8s.io/cri-api => k8s.io/cri-api v0.36.1

replace k8s.io/cri-client => k8s.io/cri-client v0.36.1

replace k8s.io/cri-streaming => k8s.io/cri-streaming v0.36.1

replace k8s.io/csi-translation-lib => k8s.io/csi-translation-lib v0.36.1

replace k8s.io/dynamic-resource-allocation => k8s.io/dynamic-resource-allocation v0.36.1

replace k8s.io/endpointslice => k8s.io/endpointslice v0.36.1

replace k8s.io/externaljwt => k8s.io/externaljwt v0.36.1

replace k8s.io/kms => k8s.io/kms v0.36.1

replace k8s.io/kube-aggregator => k8s.io/kube-aggregator v0.36.1

replace k8s.io/kube-controller-manager => k8s.io/kube-controller-manager v0.36.1

replace k8s.io/kube-proxy => k8s.io/kube-proxy v0.36.1

replace k8s.io/kube-scheduler => k8s.io/kube-scheduler v0.36.1

replace k8s.io/kubectl => k8s.io/kubectl v0.36.1

replace k8s.io/kubelet => k8s.io/kubelet v0.36.1

replace k8s.io/legacy-cloud-providers => k8s.io/legacy-cloud-providers v0.36.1

replace k8s.io/metrics => k8s.io/metrics v0.36.1

replace k8s.io/mount-utils => k8s.io/mount-utils v0.36.1

replace k8s.io/pod-security-admission => k8s.io/pod-security-admission v0.36.1

replace k8s.io/sample-apiserver => k8s.io/sample-apiserver v0.36.1

replace k8s.io/sample-cli-plugin => k8s.io/sample-cli-plugin v0.36.1

replace k8s.io/sample-controller => k8s.io/sample-controller v0.36.1
