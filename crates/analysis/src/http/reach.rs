//! Where requests may go. What a cloud tells a machine about itself, the credentials of its node among it, is at addresses
//! that need no password but being there. Whoever writes a template is not there: the controller is. So what a template
//! names does not lead to such an address, neither by number nor by name; names are looked at after they are resolved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;

use crate::providers::Reach;

/// Whether all that a name leads to may be asked.
pub(super) fn check_all(found: &[SocketAddr], reach: Reach) -> Result<(), String> {
    match found.iter().find(|address| !is_reached(address.ip(), reach)) {
        Some(address) => Err(refusal(address.ip())),
        None => Ok(()),
    }
}

/// Whether the host of an address may be asked, as far as it is written as a number: those are not resolved.
pub(super) fn check(uri: &Uri, reach: Reach) -> Result<(), String> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) if !is_reached(address, reach) => Err(refusal(address)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn refusal(address: IpAddr) -> String {
    format!(
        "nobody is asked at {address}: such addresses are the machine's own, and tell credentials to whoever is there"
    )
}

fn is_reached(address: IpAddr, reach: Reach) -> bool {
    match reach {
        Reach::Machine => true,
        Reach::Network => !is_of_the_machine(address),
    }
}

/// Link-local addresses, and those that clouds use alike: AWS and Google over IPv6, Alibaba, and Azure. Loopback is none of
/// them: whoever listens there was put beside the controller by its owner.
fn is_of_the_machine(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_clouds_own(address),
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            address.to_ipv4().is_some_and(is_clouds_own)
                || address.is_unicast_link_local()
                || [(0xfd00, 0x0ec2), (0xfd20, 0x00ce)].contains(&(first, second))
                || embedded(address).is_some_and(is_clouds_own)
        }
    }
}

fn is_clouds_own(address: Ipv4Addr) -> bool {
    const OTHERS: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
    address.is_link_local() || OTHERS.contains(&address)
}

/// The address of the old kind that a gateway (NAT64, `64:ff9b::/96`) makes of a new one.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() else { return None };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_machine_are_reached_by_the_environment_only() {
        let rows = [
            ("169.254.169.254", false),
            ("169.254.0.1", false),
            ("::ffff:169.254.169.254", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            ("fd00:ec3::254", true),
            ("fd20:ce::254", false),
            ("100.100.100.200", false),
            ("::ffff:100.100.100.200", false),
            ("168.63.129.16", false),
            ("168.63.129.17", true),
            ("100.100.100.201", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("10.96.0.1", true),
            ("168.254.169.254", true),
            ("2001:db8::1", true),
        ];
        for (text, wanted) in rows {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(is_reached(address, Reach::Network), wanted, "{text}");
            assert!(is_reached(address, Reach::Machine), "{text}");
        }
    }
}
