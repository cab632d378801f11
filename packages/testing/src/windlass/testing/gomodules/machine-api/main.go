// Command machine-api runs the Machine API's own controllers of machines, drains, machine sets and node links, and its
// admission webhooks, over a cloud that is played. It is for tests: it claims machines that do not exist.
package main

import (
	"flag"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/api/features"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/openshift/machine-api-operator/pkg/controller/machine"
	"github.com/openshift/machine-api-operator/pkg/controller/machineset"
	"github.com/openshift/machine-api-operator/pkg/controller/nodelink"
	"github.com/openshift/machine-api-operator/pkg/webhooks"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	klog.InitFlags(nil)
	namespace := flag.String("namespace", "openshift-machine-api", "where the Machines are")
	records := flag.String("cloud", "openshift-cluster-api", "where the records of instances are")
	platform := flag.String("platform", "OpenStack", "whose instances are played: OpenStack, AWS or GCP")
	machines := flag.Bool("machines", true, "run the controllers of machines and drains; false: another program does")
	port := flag.Int("webhook-port", 0, "port on loopback of the webhooks; 0: none")
	certificates := flag.String("webhook-cert-dir", "", "folder with tls.crt and tls.key of the webhooks")
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())

	scheme := runtime.NewScheme()
	must(0, clientgo.AddToScheme(scheme))
	must(0, machinev1.Install(scheme))
	must(0, configv1.Install(scheme))
	config := ctrl.GetConfigOrDie()
	// Not cached: what the cloud has just written it must read.
	played := &cloud{client: must(client.New(config, client.Options{Scheme: scheme})), namespace: *records, platform: *platform}
	options := ctrl.Options{
		Scheme:  scheme,
		Metrics: metrics.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			cached, err := client.New(config, options)
			return lettingGo{cached, played}, err
		},
		// It starts to listen when GetWebhookServer is first called.
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates}),
	}
	manager := must(ctrl.NewManager(config, options))
	gate := featuregate.NewFeatureGate()
	must(0, gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		featuregate.Feature(features.FeatureGateMachineAPIMigration): {Default: true, PreRelease: featuregate.Alpha},
	}))
	if *machines {
		must(0, machine.AddWithActuator(manager, played, gate))
	}
	must(0, machineset.Add(manager, options, gate))
	must(0, nodelink.Add(manager, options))
	if *port != 0 {
		server := manager.GetWebhookServer()
		server.Register(webhooks.DefaultMachineMutatingHookPath, must(webhooks.NewMachineDefaulter()))
		server.Register(webhooks.DefaultMachineSetMutatingHookPath, must(webhooks.NewMachineSetDefaulter()))
		server.Register(webhooks.DefaultMachineValidatingHookPath, must(webhooks.NewMachineValidator(manager.GetClient(), gate)))
		server.Register(webhooks.DefaultMachineSetValidatingHookPath, must(webhooks.NewMachineSetValidator(manager.GetClient(), gate)))
	}
	must(0, manager.Start(ctrl.SetupSignalHandler()))
}

func must[T any](value T, err error) T {
	if err != nil {
		klog.Fatal(err)
	}
	return value
}
