//! Where an answer leads, and whether that is the same server. Pure.

use std::fmt;

use http::Uri;

use super::client::Encryption;

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// The server of an address.
    pub(super) fn of(uri: &Uri) -> Result<Self, String> {
        let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err("an address begins with http:// or https://".to_owned()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("an address names a host")?;
        Ok(Self { scheme, host: host.to_ascii_lowercase(), port: uri.port_u16().unwrap_or(usual) })
    }

    /// Whether connections to it are encrypted.
    pub(super) fn encryption(&self) -> Encryption {
        if self.scheme == "https" { Encryption::On } else { Encryption::Off }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.host, self.port)
    }
}

/// Where `location` leads from an address.
pub(super) fn redirected(from: &Uri, location: &str) -> Result<Uri, String> {
    let scheme = from.scheme_str().unwrap_or("http");
    let authority = from.authority().map(ToString::to_string).unwrap_or_default();
    let is_absolute =
        location.split_once(':').is_some_and(|(scheme, _)| !scheme.contains(['/', '?', '#', '.']));
    let whole = if is_absolute {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", from.path())
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    // What is behind the # is not sent, and the rest of the address may hold a secret.
    let sent = whole.split('#').next().unwrap_or_default();
    sent.parse().map_err(|_| format!("{authority} leads to an address that cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_read_from_where_it_was_said() {
        let from: Uri = "https://host:8443/a/b?c=d".parse().unwrap();
        let rows = [
            ("/x", "https://host:8443/x"),
            ("x", "https://host:8443/a/x"),
            ("?y=1", "https://host:8443/a/b?y=1"),
            ("//other/x", "https://other/x"),
            ("https://host:8443/y#part", "https://host:8443/y"),
            ("http://other:1/", "http://other:1/"),
        ];
        for (location, wanted) in rows {
            assert_eq!(redirected(&from, location).unwrap().to_string(), wanted, "{location}");
        }
        assert!(redirected(&from, "/with space").is_err());
    }

    #[test]
    fn the_same_server_is_the_same_however_it_is_written() {
        let origin = |text: &str| Origin::of(&text.parse().unwrap()).unwrap();
        assert_eq!(origin("http://Host/a"), origin("http://host:80/b"));
        assert_ne!(origin("http://host/"), origin("https://host/"));
        assert_ne!(origin("http://host/"), origin("http://host:81/"));
        assert_ne!(origin("http://host/"), origin("http://host.other/"));
        assert_eq!(origin("https://[::1]/").to_string(), "[::1]:443");
        assert!(Origin::of(&"/path".parse().unwrap()).is_err());
    }
}
