//! Another harness, if anybody linked it.
