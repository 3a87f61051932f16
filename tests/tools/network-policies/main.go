// Command network-policies says what kubernetes-sigs' own implementation of NetworkPolicy does with packets.
//
// In: one JSON case a line, {"namespaces": …, "pods": …, "policies": …, "packets": …}; the first three are manifests.
// Out: one line a case, a character a packet: 1 where it passes, 0 where it is dropped.
// Exit 2, with the reason, where a case cannot be read.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

// packet has the layout of the type of that name in v0.8.0 (pkg/networkpolicy/packet.go), which is not exported.
type packet struct {
	id      uint32
	family  corev1.IPFamily
	srcIP   net.IP
	dstIP   net.IP
	proto   corev1.Protocol
	srcPort int
	dstPort int
	payload []byte
}

// What decides on each packet there (controller.go) is not exported either: the linker finds it by its name.
//
//go:linkname evaluatePacket sigs.k8s.io/kube-network-policies/pkg/networkpolicy.(*Controller).evaluatePacket
func evaluatePacket(controller *networkpolicy.Controller, ctx context.Context, p packet) bool

type question struct {
	Namespaces []*corev1.Namespace           `json:"namespaces"`
	Pods       []*corev1.Pod                 `json:"pods"`
	Policies   []*networkingv1.NetworkPolicy `json:"policies"`
	Packets    []struct {
		Source      string          `json:"source"`
		Destination string          `json:"destination"`
		Protocol    corev1.Protocol `json:"protocol"`
		Port        int             `json:"port"`
	} `json:"packets"`
}

// judge is the controller as it runs on a node, with what it knows of the cluster put there by hand.
type judge struct {
	controller                 *networkpolicy.Controller
	namespaces, pods, policies cache.Indexer
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run() error {
	judge, err := newJudge()
	if err != nil {
		return err
	}
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var asked question
		decoder := json.NewDecoder(bytes.NewReader(in.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&asked); err != nil {
			return err
		}
		verdicts, err := judge.answer(&asked)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(verdicts, '\n')); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return out.Flush()
}

func newJudge() (*judge, error) {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	policies, namespaces := factory.Networking().V1().NetworkPolicies(), factory.Core().V1().Namespaces()
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	config := networkpolicy.Config{NodeName: "node"}
	controller, err := networkpolicy.NewController(client, policies, namespaces, pods, nodes, nil, nil, nil, config)
	if err != nil {
		return nil, err
	}
	return &judge{
		controller: controller,
		namespaces: namespaces.Informer().GetIndexer(),
		pods:       pods.Informer().GetIndexer(),
		policies:   policies.Informer().GetIndexer(),
	}, nil
}

func (j *judge) answer(asked *question) ([]byte, error) {
	for _, policy := range asked.Policies {
		stored(policy)
	}
	for _, known := range []error{
		replace(j.namespaces, asked.Namespaces), replace(j.pods, asked.Pods), replace(j.policies, asked.Policies),
	} {
		if known != nil {
			return nil, known
		}
	}
	verdicts := make([]byte, 0, len(asked.Packets))
	for _, p := range asked.Packets {
		source, destination := net.ParseIP(p.Source), net.ParseIP(p.Destination)
		if source == nil || destination == nil {
			return nil, fmt.Errorf("not an address: %q or %q", p.Source, p.Destination)
		}
		passes := evaluatePacket(j.controller, context.Background(), packet{
			srcIP: source, dstIP: destination, proto: p.Protocol, srcPort: 40000, dstPort: p.Port,
		})
		verdict := byte('0')
		if passes {
			verdict = '1'
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

func replace[T any](indexer cache.Indexer, objects []T) error {
	items := make([]any, 0, len(objects))
	for _, object := range objects {
		items = append(items, object)
	}
	return indexer.Replace(items, "")
}

// stored turns a policy as it was written into what the API server hands out: what is left out is filled in
// (Kubernetes' pkg/apis/networking/v1/defaults.go), and lists without items are gone, since protobuf has none.
func stored(policy *networkingv1.NetworkPolicy) {
	spec := &policy.Spec
	if len(spec.PolicyTypes) == 0 {
		spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(spec.Egress) != 0 {
			spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	if len(spec.Ingress) == 0 {
		spec.Ingress = nil
	}
	if len(spec.Egress) == 0 {
		spec.Egress = nil
	}
	for index := range spec.Ingress {
		withProtocol(spec.Ingress[index].Ports)
	}
	for index := range spec.Egress {
		withProtocol(spec.Egress[index].Ports)
	}
}

func withProtocol(ports []networkingv1.NetworkPolicyPort) {
	for index := range ports {
		if ports[index].Protocol == nil {
			protocol := corev1.ProtocolTCP
			ports[index].Protocol = &protocol
		}
	}
}
