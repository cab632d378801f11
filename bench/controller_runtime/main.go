// The controller of bench/widgets_windlass.py on controller-runtime: typed, the same patch, the same number of workers.
package main

import (
	"context"
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if widget.Status.ObservedGeneration == widget.Generation && widget.Status.Phase == "Ready" {
		return ctrl.Result{}, nil
	}
	before := widget.DeepCopyObject().(*Widget)
	widget.Status.Phase = "Ready"
	widget.Status.ObservedGeneration = widget.Generation
	meta.SetStatusCondition(&widget.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Assembled",
		Message:            "all parts are in place",
		ObservedGeneration: widget.Generation,
	})
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return ctrl.Result{}, r.Status().Patch(ctx, &widget, patch)
}

func main() {
	kubeconfig := flag.String("config", "", "kubeconfig file")
	namespace := flag.String("namespace", "", "where the widgets are")
	workers := flag.Int("workers", 16, "widgets at a time")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*kubeconfig, *namespace, *workers); err != nil {
		ctrl.Log.Error(err, "ended")
		os.Exit(1)
	}
}

func run(kubeconfig, namespace string, workers int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// Without this client-go allows itself a few requests a second, whatever the server would take.
	config.QPS = -1
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Widget{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
