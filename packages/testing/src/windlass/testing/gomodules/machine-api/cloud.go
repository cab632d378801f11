package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/openshift/machine-api-operator/pkg/controller/machine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	side     = "MachineAPI"
	selector = "simulators.windlass.dev/instance"
	// How long the other side may take to let go of an instance. An error would be retried after 30 s.
	patience = 20 * time.Second
)

// cloud is the actuator. Its instances are those of windlass.testing.machines.simulators.instances and have the IDs and addresses
// of windlass.testing.machines.simulators.platforms, so that a simulated infrastructure provider can take them over and back.
// An instance runs, and has a Node that is ready, as soon as it is made.
type cloud struct {
	client    client.Client
	namespace string
	platform  string
}

func (c *cloud) Exists(ctx context.Context, m *machinev1.Machine) (bool, error) {
	record, err := c.record(ctx, m)
	return record != nil && alive(record), err
}

func (c *cloud) Create(ctx context.Context, m *machinev1.Machine) error {
	if m.Spec.ProviderSpec.Value == nil {
		return machine.InvalidMachineConfiguration("providerSpec.value is missing")
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.namespace, Name: c.instance(m), Labels: map[string]string{selector: ""},
	}}
	record.Data = map[string]string{"machine": m.Name, "holder": side, "history": entry("created")}
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, record)); err != nil {
		return err
	}
	return c.Update(ctx, m)
}

// Update writes what the cloud says of the instance. The Machine controller saves no changes of m but conditions.
func (c *cloud) Update(ctx context.Context, m *machinev1.Machine) error {
	if err := c.hold(ctx, m); err != nil {
		return err
	}
	instance := c.instance(m)
	providerID, state, named := "openstack:///"+instance, "ACTIVE", corev1.NodeAddress{Type: corev1.NodeHostName, Address: m.Name}
	switch c.platform {
	case "AWS":
		dns := fmt.Sprintf("ip-%s.ec2.internal", strings.ReplaceAll(address(instance), ".", "-"))
		providerID, state, named = "aws:///us-east-1a/"+instance, "running", corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: dns}
	case "GCP":
		dns := instance + ".us-east4-a.c.project.internal"
		providerID, state, named = "gce://project/us-east4-a/"+instance, "RUNNING", corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: dns}
	}
	before := client.MergeFrom(m.DeepCopy())
	m.Spec.ProviderID = &providerID
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, machine.MachineInstanceStateAnnotationName, state)
	if err := c.client.Patch(ctx, m, before); err != nil { // m becomes the answer, so status comes after this
		return err
	}
	before = client.MergeFrom(m.DeepCopy())
	m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address(instance)}, named}
	if c.platform != "OpenStack" {
		said := map[string]any{}
		if m.Status.ProviderStatus != nil {
			if err := json.Unmarshal(m.Status.ProviderStatus.Raw, &said); err != nil {
				return err
			}
		}
		said["instanceId"], said["instanceState"] = instance, state
		raw, err := json.Marshal(said)
		if err != nil {
			return err
		}
		m.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
	}
	if err := c.client.Status().Patch(ctx, m, before); err != nil {
		return err
	}
	return c.register(ctx, m.Name, providerID, address(instance))
}

func (c *cloud) Delete(ctx context.Context, m *machinev1.Machine) error {
	return c.change(ctx, m, func(record *corev1.ConfigMap) {
		if alive(record) {
			note(record, "deleted", "")
		}
	})
}

// hold makes the instance this side's. To take what the other side has not let go of is recorded as just that.
func (c *cloud) hold(ctx context.Context, m *machinev1.Machine) error {
	// The provider of AWS says when it stands still. The others cannot, so there it is waited for.
	if c.platform != "AWS" {
		if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			record, err := c.record(ctx, m)
			return record == nil || record.Data["holder"] != "ClusterAPI", err
		}); err != nil {
			return fmt.Errorf("the infrastructure provider has not let go of the instance: %w", err)
		}
	}
	return c.change(ctx, m, func(record *corev1.ConfigMap) {
		if record.Data["holder"] != side {
			note(record, "taken", side)
		}
	})
}

// letGo records that this side will not act on the instance until it takes it again.
func (c *cloud) letGo(ctx context.Context, m *machinev1.Machine) error {
	return c.change(ctx, m, func(record *corev1.ConfigMap) {
		if record.Data["holder"] == side {
			note(record, "let-go", "")
		}
	})
}

// change writes what apply makes of the record of m's instance, if there is one and it changes.
func (c *cloud) change(ctx context.Context, m *machinev1.Machine, apply func(*corev1.ConfigMap)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record, err := c.record(ctx, m)
		if record == nil || err != nil {
			return err
		}
		history := record.Data["history"]
		if apply(record); record.Data["history"] == history {
			return nil
		}
		return c.client.Update(ctx, record)
	})
}

func (c *cloud) record(ctx context.Context, m *machinev1.Machine) (*corev1.ConfigMap, error) {
	record := &corev1.ConfigMap{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.instance(m)}, record)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return record, err
}

// instance is the ID of the instance that m names, or that is made for it.
func (c *cloud) instance(m *machinev1.Machine) string {
	if m.Spec.ProviderID != nil && *m.Spec.ProviderID != "" {
		return path.Base(*m.Spec.ProviderID)
	}
	switch c.platform {
	case "AWS":
		digest := sha256.Sum256([]byte(m.UID))
		return "i-" + hex.EncodeToString(digest[:])[:17]
	case "GCP":
		return m.Name
	}
	return string(m.UID)
}

// register plays the kubelet of the instance.
func (c *cloud) register(ctx context.Context, name, providerID, address string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	node.Spec.ProviderID = providerID
	if err := c.client.Create(ctx, node); apierrors.IsAlreadyExists(err) {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil || len(node.Status.Conditions) > 0 {
			return client.IgnoreNotFound(err)
		}
	} else if err != nil {
		return err
	}
	before := client.MergeFrom(node.DeepCopy())
	now := metav1.Now()
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	for kind, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{
		corev1.NodeReady:          corev1.ConditionTrue,
		corev1.NodeMemoryPressure: corev1.ConditionFalse,
		corev1.NodeDiskPressure:   corev1.ConditionFalse,
		corev1.NodePIDPressure:    corev1.ConditionFalse,
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, LastHeartbeatTime: now, LastTransitionTime: now,
			Reason: "PlayedKubelet", Message: "no kubelet runs here",
		})
	}
	return c.client.Status().Patch(ctx, node, before)
}

// lettingGo lets go of an instance before the Machine controller says that it is paused: who waits for that may act at
// once. The controller tells an actuator nothing when it pauses, and a real cloud need not know.
type lettingGo struct {
	client.Client
	cloud *cloud
}

func (c lettingGo) Status() client.SubResourceWriter {
	return statusLettingGo{c.Client.Status(), c.cloud}
}

type statusLettingGo struct {
	client.SubResourceWriter
	cloud *cloud
}

func (w statusLettingGo) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if m, ok := object.(*machinev1.Machine); ok && m.Status.AuthoritativeAPI != "" && m.Status.AuthoritativeAPI != side {
		if err := w.cloud.letGo(ctx, m); err != nil {
			return err
		}
	}
	return w.SubResourceWriter.Patch(ctx, object, patch, options...)
}

// address is the internal IP of an instance.
func address(instance string) string {
	digest := sha256.Sum256([]byte(instance))
	return fmt.Sprintf("10.%d.%d.%d", digest[0], digest[1], digest[2])
}

func entry(what string) string {
	return fmt.Sprintf("%s %s %s", time.Now().UTC().Format(time.RFC3339), side, what)
}

// note writes to the record what was done, and who holds the instance after it.
func note(record *corev1.ConfigMap, what, holder string) {
	line := entry(what)
	if before := record.Data["holder"]; what != "let-go" && before != "" && before != side {
		line += " " + before
	}
	record.Data["history"] += "\n" + line
	record.Data["holder"] = holder
}

func alive(record *corev1.ConfigMap) bool {
	for _, line := range strings.Split(record.Data["history"], "\n") {
		if words := strings.Fields(line); len(words) > 2 && words[2] == "deleted" {
			return false
		}
	}
	return true
}
