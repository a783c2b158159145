set(OCTET_FRONTEND_TESTS
  frontend/log_mel_test.cpp)
