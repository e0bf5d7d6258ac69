// Keys and certificates, made here rather than by the components: elliptic
// curves take no time, and the authority stays the same when the API server is
// started again.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// writeKeys makes the authority, the certificate that all components serve
// with, and the key pair of the service accounts.
func (b *bed) writeKeys() error {
	caKey, err := b.newKey("ca.key")
	if err != nil {
		return err
	}
	ca := certificate(1, "testbed authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	if b.ca, err = b.writeCertificate("ca.crt", ca, ca, caKey, caKey); err != nil {
		return err
	}

	serverKey, err := b.newKey("server.key")
	if err != nil {
		return err
	}
	server := certificate(2, "testbed server")
	server.KeyUsage, server.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 32, 0, 1)}
	if _, err = b.writeCertificate("server.crt", server, ca, serverKey, caKey); err != nil {
		return err
	}

	accounts, err := b.newKey("accounts.key")
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&accounts.PublicKey)
	if err != nil {
		return err
	}
	_, err = b.writePEM("accounts.pub", "PUBLIC KEY", public)
	return err
}

func certificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

func (b *bed) newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	_, err = b.writePEM(file, "EC PRIVATE KEY", der)
	return key, err
}

func (b *bed) writeCertificate(file string, cert, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return b.writePEM(file, "CERTIFICATE", der)
}

func (b *bed) writePEM(file, kind string, der []byte) ([]byte, error) {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return text, os.WriteFile(b.path("pki", file), text, 0o600)
}
