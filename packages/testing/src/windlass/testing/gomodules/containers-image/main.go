// Pulls an image as a node does: only if a policy accepts it.
//
//	pull POLICY REGISTRIES_D AUTHFILE IMAGE FOLDER
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/containers/image/v5/copy"
	"github.com/containers/image/v5/directory"
	"github.com/containers/image/v5/docker"
	"github.com/containers/image/v5/signature"
	"github.com/containers/image/v5/types"
)

func main() {
	if err := pull(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func pull(policyFile, registriesFolder, authFile, image, folder string) error {
	policy, err := signature.NewPolicyFromFile(policyFile)
	if err != nil {
		return err
	}
	accepted, err := signature.NewPolicyContext(policy)
	if err != nil {
		return err
	}
	source, err := docker.ParseReference("//" + image)
	if err != nil {
		return err
	}
	destination, err := directory.NewReference(folder)
	if err != nil {
		return err
	}
	system := &types.SystemContext{
		RegistriesDirPath:           registriesFolder,
		AuthFilePath:                authFile,
		DockerInsecureSkipTLSVerify: types.OptionalBoolTrue,
	}
	options := &copy.Options{SourceCtx: system, RemoveSignatures: true}
	_, err = copy.Image(context.Background(), accepted, destination, source, options)
	return err
}
