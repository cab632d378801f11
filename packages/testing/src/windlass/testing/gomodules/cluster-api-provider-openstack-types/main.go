// Decodes objects as Cluster API's OpenStack provider does: with its own Go types, of the version that it stores.
//
//	openstack-types < OBJECTS     # JSON objects, one after the other
//
// Prints a line for each object: its kind, a tab, and what the decoder said, or nothing.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1"
	"sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	input := json.NewDecoder(os.Stdin)
	for {
		var object json.RawMessage
		if err := input.Decode(&object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
		var named struct {
			Kind string `json:"kind"`
		}
		_ = json.Unmarshal(object, &named)
		said := ""
		if _, _, err := decoder.Decode(object, nil, nil); err != nil {
			said = err.Error()
		}
		fmt.Printf("%s\t%s\n", named.Kind, said)
	}
}
