package egress

import (
	"net/netip"
	"slices"
)

// special lists the networks that are not the public internet beyond what
// netip has a name for. Addresses that embed an IPv4 address are here too:
// they would reach that address by another way. A granted private host may still be in
// one of them: see machine.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"100.64.0.0/10",    // carrier-grade NAT
	"168.63.129.16/32", // Azure's own services, beside every machine there
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"240.0.0.0/4",      // reserved, broadcast
	"::/96",            // IPv4-compatible
	"::ffff:0:0:0/96",  // IPv4-translated
	"64:ff9b::/96",     // NAT64
	"64:ff9b:1::/48",   // local NAT64
	"100::/64",         // discard
	"2001::/23",        // Teredo and other assignments
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4
	"3fff::/20",        // documentation
	"5f00::/16",        // segment routing
	"fec0::/10",        // site-local
)

// metadata lists what lies in private networks and is no machine in them: the
// services where clouds hand out keys.
var metadata = prefixes(
	"100.100.100.200/32", // Alibaba
	"fd00:ec2::/32",      // Amazon
	"fd20:ce::/32",       // Google
)

func prefixes(list ...string) []netip.Prefix {
	ps := make([]netip.Prefix, len(list))
	for i, s := range list {
		ps[i] = netip.MustParsePrefix(s)
	}
	return ps
}

// public reports whether an address belongs to the public internet: not this
// machine, not a private or link-local network (where clouds keep their
// metadata), not multicast, not reserved.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !within(special, a)
}

// machine reports whether an address is one of this machine or of another in
// its private network: not link-local, not a cloud's own services.
func machine(a netip.Addr) bool {
	a = a.Unmap()
	return a.Zone() == "" && (a.IsLoopback() || a.IsPrivate() || shared.Contains(a)) && !within(metadata, a)
}

var shared = netip.MustParsePrefix("100.64.0.0/10") // private networks of providers, overlays too

func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}
